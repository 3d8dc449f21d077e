"""A sealed competition, start to end: the commands of docs/competition.md as they stand there."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ragen_envs.core.sealed import key_hash, new_key

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/competition.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (.+)$", PAGE, re.MULTILINE)
AUDIT = "RAGEN_SEALED_KEY_FILE=key.txt ragen-bench audit --sealed"  # minutes, and tested elsewhere
CONTENDER = "def answer(messages):\n    return '<think>Right.</think><answer>Right</answer>'\n"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("competition")]


def shell(folder, *commands):
    clean = {name: value for name, value in os.environ.items() if "SEALED" not in name}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-euc", "\n".join(commands)],
        cwd=folder,
        env=clean | {"PATH": path},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def event(tmp_path_factory):
    """The folder of an event that is over, and what the commands printed."""
    folder = tmp_path_factory.mktemp("event")
    (folder / "team_r").mkdir()
    (folder / "team_r/__init__.py").touch()
    (folder / "team_r/contender.py").write_text(CONTENDER)
    commands = [command for command in COMMANDS if command != AUDIT]
    assert len(commands) == len(COMMANDS) - 1 == 14
    hashed = "published=$(ragen-bench sealed hash key.txt)"
    commands[1] = hashed
    done = shell(folder, *(command.replace("HASH", "$published") for command in commands))
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, done.stdout


def test_everybody_gets_the_same_site(event):
    folder, said = event
    files = {path.relative_to(folder / "site") for path in (folder / "site").rglob("*")}
    assert len(files) == 11
    assert files == {
        path.relative_to(folder / "site-of-mine") for path in (folder / "site-of-mine").rglob("*")
    }
    for file in files:
        if (folder / "site" / file).is_file():
            mine = (folder / "site-of-mine" / file).read_bytes()
            assert (folder / "site" / file).read_bytes() == mine
    assert said.count("Verified: always-right, 64 episodes") == 1
    assert f"The key of the hash {key_hash(key(folder))}" in said


def test_the_key_leaves_the_host_in_no_file(event):
    folder, _ = event
    secret = key(folder).encode()
    for place in ("runs", "event", "site"):
        for file in (folder / place).rglob("*"):
            if file.is_file():
                data = file.read_bytes()
                packed = file.suffix == ".gz"
                assert secret not in (gzip.decompress(data) if packed else data)


def test_the_site_gives_no_instance_away(event):
    folder, _ = event
    with gzip.open(folder / "event/entries/always-right/episodes.jsonl.gz", "rt") as lines:
        boards = [json.loads(line)["turns"][0]["observation"] for line in lines]
    rows = {row for board in boards for row in board.splitlines() if set(row) <= set("#_OXPG√S")}
    rows = {row for row in rows if len(row) >= 4}
    assert len(rows) > 20
    pages = [file for file in (folder / "site").rglob("*") if file.is_file()]
    # A report would hold them compressed.
    data = {"README.md", "leaderboard.json", "leaderboard.csv"}
    assert {file.name for file in pages} == {"index.html", *data}
    assert not [row for row in rows if any(row in page.read_text() for page in pages)]


def test_ranks(event):
    folder, _ = event
    found = json.loads((folder / "site/leaderboard.json").read_text())
    (board,) = found["boards"]
    assert (board["suite"], board["split"]) == ("quick", "sealed")
    assert board["sealed_key_hash"] == key_hash(key(folder))
    ranks = {entry["name"]: entry["rank"] for entry in board["entries"]}
    assert ranks == {"oracle": None, "random": None, "Always right": 1}
    # With some keys the random player is below the contender.
    scores = [entry["suite_score"] for entry in board["entries"]]
    assert scores == sorted(scores, reverse=True)
    assert board["entries"][0]["name"] == "oracle"


def test_another_key_is_seen(event, tmp_path):
    folder, _ = event
    (tmp_path / "key.txt").write_text(new_key() + "\n")
    said = key_hash(key(folder))
    done = shell(tmp_path, f"ragen-bench sealed check key.txt {said}")
    assert (done.returncode, done.stdout[:11]) == (1, "NOT the key")
    shutil.copytree(folder / "event", tmp_path / "event")
    done = shell(
        tmp_path,
        "RAGEN_SEALED_KEY_FILE=key.txt ragen-bench verify event/entries/always-right",
    )
    assert done.returncode == 1
    assert "sealed_key_hash" in done.stdout


def test_without_the_key_no_site(event):
    done = shell(event[0], "ragen-bench leaderboard build event --out nothing")
    assert done.returncode == 1
    assert (
        "always-right: is of the sealed split: the sealed split needs the host's key" in done.stdout
    )
    assert not (event[0] / "nothing").exists()


def key(folder):
    return (folder / "key.txt").read_text().strip()
