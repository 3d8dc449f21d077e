"""A sealed event from its key to its end, as host and reader type it."""

import json
import re
import stat
from pathlib import Path

import pytest

from ragen_bench.cli import main
from ragen_envs.core.sealed import is_weak, new_key
from tests.ragen_bench.cli.command import run

pytestmark = pytest.mark.slow

PLAYS = ["evaluate", "random", "--env", "Bandit-v0", "--env", "FrozenLake-v0", "--limit", "3"]
SEALED = [*PLAYS, "--split", "sealed", "--out", "run"]


def test_new_hash_and_check(tmp_path):
    new = ["sealed", "new", "key.txt", "--event", "Spring cup"]
    made = run(*new, cwd=tmp_path)
    key = (tmp_path / "key.txt").read_text().strip()
    hashed = re.search("[0-9a-f]{64}", made.stdout)[0]
    assert (made.returncode, key in made.stdout) == (0, False)
    assert stat.S_IMODE((tmp_path / "key.txt").stat().st_mode) == 0o600
    assert run("sealed", "hash", "key.txt", cwd=tmp_path).stdout == f"{hashed}\n"
    right = run("sealed", "check", "key.txt", hashed.upper(), cwd=tmp_path)
    told = f"The key of the hash {hashed}, for the event Spring cup\n"
    assert (right.returncode, right.stdout) == (0, told)
    wrong = run("sealed", "check", "key.txt", "0" * 64, cwd=tmp_path)
    assert (wrong.returncode, wrong.stdout) == (1, f"NOT the key: its hash is {hashed}\n")
    again = run(*new, cwd=tmp_path)
    assert again.returncode == 2
    assert again.stderr == "ragen-bench: key.txt exists already; choose another file\n"
    assert (tmp_path / "key.txt").read_text().strip() == key
    (tmp_path / "key.txt").write_text(key.replace("Spring", "Autumn"))
    renamed = run("sealed", "check", "key.txt", hashed, cwd=tmp_path)
    assert (renamed.returncode, renamed.stdout[:18]) == (1, "NOT the key: its h")


@pytest.mark.parametrize(
    "key", ["0" * 64, "0123456789abcdef" * 4, "f0" * 32 + " Spring", "123456789" * 7 + "1"]
)
def test_a_key_that_was_typed_is_not_published(tmp_path, monkeypatch, capsys, key):
    monkeypatch.chdir(tmp_path)
    Path("key.txt").write_text(key)
    assert main(["sealed", "hash", "key.txt"]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("ragen-bench: key.txt holds a key that was not drawn at random")
    assert key not in said.out + said.err


@pytest.mark.parametrize("key", ["5" * 64, "0123456789abcdef" * 4 + " Spring"])
def test_a_key_that_was_typed_is_not_played(tmp_path, monkeypatch, capsys, key):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGEN_SEALED_KEY", key)
    assert main(SEALED) == 2
    said = capsys.readouterr()
    assert said.err.startswith("ragen-bench: the environment holds a key that was not drawn at")
    assert key not in said.out + said.err
    assert [*tmp_path.iterdir()] == []


def test_keys_that_are_drawn_are_published():
    assert not any(is_weak(new_key()) for _ in range(2000))


def test_mistakes_get_one_line(tmp_path):
    (tmp_path / "words.txt").write_text("correct horse battery staple")
    for arguments, says in (
        (["sealed", "hash", "missing"], "the key file missing cannot be read"),
        (["sealed", "hash", "words.txt"], "the key file words.txt holds no key"),
        (["sealed", "check", "words.txt", "abc"], "'abc' is not the hash of a key"),
        (["sealed", "new", "key.txt"], "the following arguments are required: --event"),
        (["sealed", "new", "key.txt", "--event", ""], "--event is empty; name the event that"),
        (["sealed", "new", "key.txt", "--event", "Größte"], "of ASCII, got 'Größte'"),
        (["sealed"], "the following arguments are required: ACTION"),
        (SEALED, "name its file in RAGEN_SEALED_KEY_FILE"),
        (["play", "Sokoban-v0", "--split", "sealed"], "the sealed split needs the host's key"),
    ):
        done = run(*arguments, cwd=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert says in done.stderr
        assert "horse" not in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["words.txt"]


def test_a_run_carries_the_hash_and_never_the_key(tmp_path):
    for name in ("key.txt", "other.txt"):
        run("sealed", "new", name, "--event", "Spring cup", cwd=tmp_path)
    key, hashed = (
        (tmp_path / "key.txt").read_text().strip(),
        run("sealed", "hash", "key.txt", cwd=tmp_path).stdout.strip(),
    )
    done = run(*SEALED, cwd=tmp_path, RAGEN_SEALED_KEY=key)
    assert done.returncode == 0, done.stderr
    config = json.loads((tmp_path / "run/run.json").read_text())
    assert config["sealed_key_hash"] == hashed
    files = [file for file in (tmp_path / "run").iterdir() if file.is_file()]
    assert len(files) >= 5
    assert not [file.name for file in files if key.encode() in file.read_bytes()]
    assert key not in done.stdout + done.stderr
    resumed = run(*SEALED, cwd=tmp_path, RAGEN_SEALED_KEY_FILE="key.txt")
    assert "6 episodes are there already" in resumed.stdout

    other = run(*SEALED, cwd=tmp_path, RAGEN_SEALED_KEY_FILE="other.txt")
    assert (other.returncode, f'sealed_key_hash: "{hashed}" there' in other.stderr) == (2, True)
    report = run("report", "run", cwd=tmp_path, RAGEN_SEALED_KEY_FILE="other.txt")
    assert f"the run used the sealed key with the hash {hashed}" in report.stderr
    assert report.returncode == 2
    assert run("report", "run", cwd=tmp_path, RAGEN_SEALED_KEY_FILE="key.txt").returncode == 0
    config.pop("sealed_key_hash")
    (tmp_path / "run/run.json").write_text(json.dumps(config))
    lacking = run("report", "run", cwd=tmp_path, RAGEN_SEALED_KEY_FILE="key.txt")
    assert "is of the sealed split and lacks sealed_key_hash" in lacking.stderr
