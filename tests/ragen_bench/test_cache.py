"""The cache of results: what it keeps, and what it refuses to believe."""

import os

import pytest

from ragen_bench import cache


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv(cache.RECOMPUTE)
    monkeypatch.setenv("RAGEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "cache" / "results"


class Counted:
    """A computation that counts its runs."""

    def __init__(self, result=None):
        self.runs, self.result = 0, result or {"score": [0.1, None, "ä"]}

    def __call__(self):
        self.runs += 1
        return self.result


def test_a_result_is_computed_once_for_its_arguments(folder):
    compute = Counted()
    results = [cache.fetch("row", ["FrozenLake", 1], compute) for _ in range(3)]
    assert results == [compute.result] * 3
    assert compute.runs == 1
    cache.fetch("row", ["FrozenLake", 2], compute)
    cache.fetch("line", ["FrozenLake", 1], compute)
    assert compute.runs == 3
    assert len(list(folder.iterdir())) == 3


def test_a_changed_file_of_the_packages_makes_results_obsolete(folder, monkeypatch, tmp_path):
    compute = Counted()
    (tmp_path / "game.py").write_text("WIN = 1")
    before = cache.fingerprint(tmp_path)
    cache.fetch("row", 0, compute)
    monkeypatch.setattr(cache, "fingerprint_packages", lambda: [before])
    cache.fetch("row", 0, compute)
    (tmp_path / "game.py").write_text("WIN = 12")
    after = cache.fingerprint(tmp_path)
    assert after != before
    monkeypatch.setattr(cache, "fingerprint_packages", lambda: [after])
    cache.fetch("row", 0, compute)
    assert compute.runs == 3


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "swap", "other key"])
def test_a_file_of_other_content_is_computed_again_with_a_line(folder, damage, capsys, tmp_path):
    compute = Counted()
    cache.fetch("row", 0, compute)
    [file] = folder.iterdir()
    content = bytearray(file.read_bytes())
    if damage == "other key":
        (tmp_path / "ragen/cache.key").write_bytes(bytes(32))
    elif damage == "swap":  # a result that this user wrote, under the name of another
        cache.fetch("row", 1, Counted({"score": [1.0]}))
        [other] = set(folder.iterdir()) - {file}
        other.replace(file)
    else:
        content[-1] ^= 1
        file.write_bytes({"flip": content, "cut": content[:-3], "empty": b""}[damage])
    assert cache.fetch("row", 0, compute) == compute.result
    assert compute.runs == 2
    assert f"{file} is damaged, or another program wrote it" in capsys.readouterr().err
    assert cache.fetch("row", 0, compute) == compute.result
    assert compute.runs == 2
    assert capsys.readouterr().err == ""


def test_the_oldest_results_make_room(folder, monkeypatch):
    monkeypatch.setattr(cache, "_MAX_BYTES", 3000)
    for number in range(8):
        before = {*folder.iterdir()} if number else set()
        cache.fetch("row", number, Counted(os.urandom(400).hex()))
        for file in {*folder.iterdir()} - before:
            os.utime(file, ns=(number, number))
    assert 3 <= len(list(folder.iterdir())) <= 7
    kept = Counted()
    cache.fetch("row", 7, kept)
    cache.fetch("row", 0, kept)
    assert kept.runs == 1


@pytest.mark.parametrize("variable", [cache.RECOMPUTE, "XDG_CONFIG_HOME", "RAGEN_CACHE"])
def test_without_a_place_to_keep_them_results_are_computed(folder, variable, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(variable, str(tmp_path / "file"))
    compute = Counted()
    assert [cache.fetch("row", 0, compute) for _ in range(2)] == [compute.result] * 2
    assert compute.runs == 2


@pytest.mark.parametrize("variable", ["XDG_CONFIG_HOME", "RAGEN_CACHE"])
def test_without_a_home_directory_results_are_computed(folder, variable, monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv(variable)
    monkeypatch.setattr("pathlib.Path.home", no_home)
    compute = Counted()
    assert [cache.fetch("row", 0, compute) for _ in range(2)] == [compute.result] * 2
    assert compute.runs == 2


def test_a_link_to_nothing_among_the_files_of_a_package_is_no_fault(tmp_path):
    (tmp_path / "game.py").write_text("WIN = 1")
    before = cache.fingerprint(tmp_path)
    (tmp_path / ".#game.py").symlink_to("user@host.1234:5678")
    assert cache.fingerprint(tmp_path) == before


def test_the_secret_key_is_the_users_alone(folder, tmp_path):
    cache.fetch("row", 0, Counted())
    file = tmp_path / "ragen/cache.key"
    assert file.stat().st_size == 32
    assert file.stat().st_mode & 0o077 == 0
    assert folder.stat().st_mode & 0o077 == 0
