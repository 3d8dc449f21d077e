"""The table of a run's metrics, and the line on drops."""

import json

import pytest
from rich.console import Console

from ragen_bench.terminal.results import (
    describe_all_drops,
    summary_table,
)
from tests.ragen_bench.cli.command import run

pytestmark = pytest.mark.slow


def test_a_score_of_almost_nothing_has_no_minus(tmp_path):
    played = run("evaluate", "random", "--env", "Sokoban-v0", "--limit", "2", cwd=tmp_path)
    assert played.returncode == 0
    [file] = (tmp_path / "runs").glob("*/summary.json")
    summary = json.loads(file.read_text())
    summary |= {"suite_score": -0.0004, "suite_score_interval": [-0.0001, 0.5]}
    summary["envs"][0]["normalised"] = -0.004
    console = Console(width=80)
    with console.capture() as captured:
        console.print(summary_table(summary))
    text = " ".join(captured.get().split())
    assert "Mean of norm. 0.000 [0.000, 0.500]; norm.: 0 random, 1 oracle." in text
    assert "-0.00" not in text


TOKENS = {"prompt_tokens": 90, "completion_tokens": 10}


def row(score, without=None, **fields):
    drops = {"cut": 3, "without": {"episodes": 7, "score": without}}
    return {"score": score, **TOKENS, **({"drops": drops} if without else {}), **fields}


def test_drops_of_all_environments_are_one_line():
    rows = [row(0.5, 0.75), row(0.25), row(0.0)]
    rows[2]["drops"] = {"missing": 2, "excluded": {"HTTP 500": 1}, "given_up": {"time-out": 2}}
    text = describe_all_drops({"envs": rows, "planned": 1024}, 64)
    assert text == (
        "Drops   6 of 1,024 episodes: 1 excluded (1 HTTP 500), 2 given up and failed (2 time-out), "
        "3 cut at 64 tokens. Mean score 0.250, without them 0.333"
    )
    assert describe_all_drops({"envs": [row(0.5)], "planned": 8}, 64) == ""
    only_missing = [row(0.5) | {"drops": {"missing": 2}}]
    assert describe_all_drops({"envs": only_missing, "planned": 8}, 64) == ""


def test_a_reference_player_is_called_one(tmp_path):
    played = run(
        *("evaluate", "random", "--env", "MinesweeperLarge-v0", "--env", "Minesweeper-v0"),
        *("--limit", "2"),
        cwd=tmp_path,
    )
    assert played.returncode == 0
    [file] = (tmp_path / "runs").glob("*/summary.json")
    summary = json.loads(file.read_text())
    labels = [name for name, _ in summary_table(summary).rows if name != "  blind"]
    assert labels[:3] == ["MinesweeperLarge-v0", "  random", "  reference"]
    assert labels[3:] == ["Minesweeper-v0", "  random", "  oracle"]
    # The line that fits; the others are in the report.
    below = played.stdout.partition("norm.: 0 random, 1 oracle.\n")[2].splitlines()
    assert len(below) == 2
    assert below[0].startswith("Not shown to be above random or blind: MinesweeperLarge-v0")
    assert below[1].startswith("Report  runs/")
