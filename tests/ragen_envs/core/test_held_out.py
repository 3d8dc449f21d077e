import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs import games
from ragen_envs.cli import build_held_out
from ragen_envs.cli.build_held_out import HeldOutFile
from ragen_envs.core.held_out import load, read, write
from ragen_envs.registration import GAMES, IDS, find_game
from tests.ragen_envs.support import held_out_size

pytestmark = pytest.mark.slow

ROOT = Path(games.__file__).parent
word = st.text("abcxyz0123456789.#@$ -", min_size=1, max_size=6).filter(
    lambda text: " " not in text and not text.startswith(";")
)
body = st.lists(word, min_size=1, max_size=4).map("\n".join)
figures = st.dictionaries(word.filter(lambda text: "=" not in text), word, max_size=3)


@given(st.lists(st.tuples(body, figures), min_size=1, max_size=5))
def test_what_is_written_is_read(blocks):
    assert read(write(blocks), lambda *block: block) == tuple(blocks)


def test_the_layout():
    text = write([("#@\n$.", {"optimal_length": 4}), ("x", {}), ("y", {"a": 0.5, "b": "c"})])
    assert text == "; 0 optimal_length=4\n#@\n$.\n\n; 1\nx\n\n; 2 a=0.5 b=c\ny\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("; 1\nx\n", "instance 0 of a held-out file begins with '; 1'"),
        ("; 0\nx\n\n; 2\nx\n", "instance 1 of a held-out file begins with '; 2'"),
        ("# 0\nx\n", "instance 0 of a held-out file begins with '# 0'"),
    ],
)
def test_blocks_are_numbered(text, message):
    with pytest.raises(ValueError, match=message):
        read(text, lambda *block: block)


def test_a_missing_file_is_named():
    with pytest.raises(
        ValueError, match=r"ragen_envs ships no held-out instances in 'no/file\.txt'"
    ):
        load("ragen_envs", "no/file.txt", len)


def test_a_file_is_read_once():
    def make(body, figures):
        return body

    first = load("ragen_envs.games.sokoban", "levels/Sokoban-v0-val.xsb", make)
    assert load("ragen_envs.games.sokoban", "levels/Sokoban-v0-val.xsb", make) is first
    assert len(first) == 256


def run_check(monkeypatch, files):
    monkeypatch.setattr(build_held_out, "held_out_files", lambda: iter(files))
    monkeypatch.setattr(sys, "argv", ["build_held_out", "--check"])
    return build_held_out.main()


def test_the_shipped_files_are_what_the_generators_give(monkeypatch, capsys):
    regenerated = list(build_held_out.held_out_files())
    assert len(regenerated) == 2 * len(IDS)
    for file in regenerated:
        assert file.path.read_bytes() == file.text.encode(), file.path.name
        assert file.path.stem == f"{file.env_id.partition('/')[2]}-{file.split}"
        numbered = sum(line.startswith("; ") for line in file.text.splitlines())
        assert numbered == held_out_size(file.env_id)
    folders = {file.path.parent for file in regenerated}
    assert {folder.parent.name for folder in folders} == {
        game.entry_point.split(".")[2] for game in GAMES
    }
    shipped = {path for folder in folders for path in folder.iterdir()}
    assert shipped == {file.path for file in regenerated}
    assert run_check(monkeypatch, regenerated) == 0
    assert capsys.readouterr().out.splitlines() == [f"same  {f.path.name}" for f in regenerated]


def test_ids_choose_files(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["build_held_out", "--check", "BanditRev-v0", "ragen/Cube-v0"])
    assert build_held_out.main() == 0
    names = ["BanditRev-v0-val", "BanditRev-v0-test", "Cube-v0-val", "Cube-v0-test"]
    assert [line.split()[1].split(".")[0] for line in capsys.readouterr().out.splitlines()] == names
    monkeypatch.setattr(sys, "argv", ["build_held_out", "Nope-v0"])
    with pytest.raises(SystemExit, match="2"):
        build_held_out.main()
    assert "unknown id 'ragen/Nope-v0'; choose from: ragen/Bandit-v0," in capsys.readouterr().err


def test_one_game_alone_gives_the_same_files():
    files = list(
        build_held_out.held_out_files(
            [find_game("ragen/Bandit-v0"), find_game("ragen/BanditMultiPull-v0")]
        )
    )
    assert [f"{file.env_id} {file.split}" for file in files] == [
        f"ragen/{name} {split}"
        for name in ("Bandit-v0", "BanditRev-v0", "BanditMultiPull-v0")
        for split in ("val", "test")
    ]
    assert all(file.is_shipped for file in files)


@pytest.mark.parametrize("id_", ["ragen/BanditRev-v0", "ragen/WebShopText-v0"])
def test_a_variant_alone_gives_the_same_files(id_):
    """Whether or not it may repeat what the variants before it hold."""
    files = list(build_held_out.held_out_files([find_game(id_)], only=id_))
    assert [(file.env_id, file.split) for file in files] == [(id_, "val"), (id_, "test")]
    assert all(file.is_shipped for file in files)


@pytest.fixture
def shelf(tmp_path):
    """Two small files and what they should hold."""
    files = [
        HeldOutFile(name, "val", tmp_path / f"{name}.txt", f"; 0\n{name}.txt\n") for name in "ab"
    ]
    for file in files:
        file.path.write_bytes(file.text.encode())
    return files


def test_the_check_reports_a_changed_file(shelf, monkeypatch, capsys):
    assert run_check(monkeypatch, shelf) == 0
    shelf[1].path.write_bytes(b"; 0\nb.txT\n")
    assert run_check(monkeypatch, shelf) == 1
    assert capsys.readouterr().out.splitlines()[-2:] == ["same  a.txt", "DIFFERS  b.txt"]


def test_the_check_reports_a_missing_file_and_writes_nothing(shelf, monkeypatch, capsys):
    shelf[0].path.unlink()
    assert run_check(monkeypatch, shelf) == 1
    assert capsys.readouterr().out.splitlines() == ["DIFFERS  a.txt", "same  b.txt"]
    assert not shelf[0].path.exists()


def test_the_check_reports_changed_line_ends(shelf, monkeypatch):
    shelf[0].path.write_bytes(shelf[0].text.replace("\n", "\r\n").encode())
    assert run_check(monkeypatch, shelf) == 1


def test_without_check_the_files_are_written(tmp_path, monkeypatch, capsys):
    file = HeldOutFile("a", "val", tmp_path / "new" / "a.txt", "; 0\n√\n")
    monkeypatch.setattr(build_held_out, "held_out_files", lambda: iter([file]))
    monkeypatch.setattr(sys, "argv", ["build_held_out"])
    assert build_held_out.main() == 0
    assert file.path.read_bytes() == "; 0\n√\n".encode()
    assert capsys.readouterr().out == "wrote  a.txt\n"
