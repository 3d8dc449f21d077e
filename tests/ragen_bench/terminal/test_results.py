"""The table of a run's figures, and the line on answers that were cut."""

import json

import pytest
from rich.console import Console

from ragen_bench.terminal.results import describe_truncation, reference_lines, summary_table
from ragen_envs.registration import find_reference
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
    assert "Mean of norm. 0.000 [0.000, 0.500]. success: % of episodes." in text
    assert "-0.00" not in text


def test_the_share_of_answers_that_were_cut():
    rows = [{"turns": 30, "cut": 0.1}, {"turns": 10, "cut": 0.5}, {"turns": 0, "cut": None}]
    assert describe_truncation({"envs": rows}, 64) == "20.0 % of responses were cut at 64 tokens"
    assert describe_truncation({"envs": [{"turns": 9, "cut": 0.0}]}, 64) == ""


def test_a_reference_player_is_called_one(tmp_path):
    played = run(
        *("evaluate", "random", "--env", "MinesweeperLarge-v0", "--env", "Minesweeper-v0"),
        *("--limit", "2"),
        cwd=tmp_path,
    )
    assert played.returncode == 0
    [file] = (tmp_path / "runs").glob("*/summary.json")
    summary = json.loads(file.read_text())
    labels = [name for name, _ in summary_table(summary).rows]
    assert labels[:3] == ["MinesweeperLarge-v0", "  random", "  reference"]
    assert labels[3:] == ["Minesweeper-v0", "  random", "  oracle"]
    (line,) = reference_lines(summary)
    assert line.startswith("MinesweeperLarge-v0: the oracle is a reference player and its score is")
    assert line.endswith(f"{find_reference('ragen/MinesweeperLarge-v0')}.")
    assert " ".join(line.split()) in " ".join(played.stdout.split())
