"""`replay` and `analyse` as their user types them."""

import json
import shutil

import pytest

from tests.ragen_bench.cli.command import run, run_alone

pytestmark = pytest.mark.xdist_group("replay")  # its runs are made once

PLAYS = ["--env", "Sokoban-v0", "--env", "FrozenLake-v0", "--env", "Bandit-v0", "--limit", "3"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    done = run_alone("evaluate", "random", *PLAYS, "--samples", "2", "--out", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "run"


@pytest.fixture
def copied(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "run")
    return tmp_path / "run"


def edit(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_an_honest_run_is_equal(copied):
    done = run("replay", "run", cwd=copied.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Specification: as this version computes it.\n")
    assert "Replayed 18 of 18 planned episodes: 18 equal, 0 different." in done.stdout


def test_edits_are_named_and_the_rest_is_still_looked_at(copied):
    edit(copied / "episodes.jsonl", '"score":0.0', '"score":1.0')
    edit(copied / "run.json", '"prompt_hash": "', '"prompt_hash": "0')
    done = run("replay", "run", cwd=copied.parent)
    assert (done.returncode, done.stderr) == (1, "")
    assert "ragen/Sokoban-v0/test/0/0  score: recorded 1.0, recomputed 0.0\n" in done.stdout
    assert 'run.json  prompt_hash: recorded "0' in done.stdout
    assert "18 planned episodes: 17 equal, 1 different." in done.stdout


def test_a_part_of_a_run_is_replayed(copied):
    lines = (copied / "episodes.jsonl").read_text().splitlines(keepends=True)
    (copied / "episodes.jsonl").write_text("".join(lines[:5]) + lines[5][:40])
    done = run("replay", "run", cwd=copied.parent)
    assert done.returncode == 0
    assert "Replayed 5 of 18 planned episodes: 5 equal, 0 different." in done.stdout


@pytest.mark.parametrize("command", ["replay", "analyse"])
@pytest.mark.parametrize(
    ("file", "content", "code", "says"),
    [
        ("run.json", None, 2, "run holds no run: there is no run.json"),
        ("episodes.jsonl", "", 1, "run holds no finished episode yet"),
        ("episodes.jsonl", "{}\n", 1, "episodes.jsonl line 1 lacks env"),
        ("episodes.jsonl", "\ud800\n", 1, "line 1 is not a JSON object"),
    ],
)
def test_mistakes_get_one_line(copied, command, file, content, code, says):
    if content is None:
        (copied / file).unlink()
    else:
        (copied / file).write_bytes(content.encode("utf-8", "surrogatepass"))
    done = run(command, "run", cwd=copied.parent)
    assert (done.returncode, done.stderr.count("\n")) == (code, 1)
    assert says in done.stderr


def test_a_format_that_nobody_knows_gets_one_line(copied):
    edit(copied / "run.json", '"response_format": "think"', '"response_format": "xml"')
    for command in ("replay", "analyse"):
        done = run(command, "run", cwd=copied.parent)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert 'run.json has response_format "xml", which is not ' in done.stderr


def test_analyse_prints_tables_of_80_columns_and_writes_them_down(copied):
    edit(copied / "episodes.jsonl", '"score":0.0', '"score":1.0')
    done = run("analyse", "run", cwd=copied.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    analysis = json.loads((copied / "analysis.json").read_text())
    assert [row["env"] for row in analysis["envs"]] == [
        "ragen/Sokoban-v0",
        "ragen/FrozenLake-v0",
        "ragen/Bandit-v0",
    ]
    for row in analysis["envs"]:
        assert sum(cause["episodes"] for cause in row["failures"]) == row["failed"]
        for cause in row["failures"]:
            assert cause["label"] in done.stdout
    assert "Left out of Sokoban-v0: 1 whose records differ" in done.stdout
    first = (copied / "analysis.json").read_bytes()
    run("analyse", "run", cwd=copied.parent)
    assert (copied / "analysis.json").read_bytes() == first
