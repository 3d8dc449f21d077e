"""The demo's two runs and their one table."""

import json
import re

from ragen_bench.cli import evaluate
from ragen_bench.cli.main import main
from ragen_bench.suites import SUITES

SCRIPTED = (
    "evaluate random --suite quick --limit 2",
    "evaluate oracle --env Sokoban-v0 --limit 2",
)


def test_one_table_spans_both_players_and_the_same_command_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(evaluate, "PLAYERS", SCRIPTED)
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    table = re.search(r"─\n(.*?)\n\n-: not played", printed, re.DOTALL)[1].splitlines()
    game = ["random", "blind", "random", "oracle", "oracle"]
    names = [line.split()[0] for line in table]
    assert names == ["Bandit-v0", *game, "Sokoban-v0", *game, "FrozenLake-v0", *game]
    played = [line.split()[1:] for line in table if line.startswith("   oracle")]
    dashes = ["-", "-"]
    assert [cells[:2] for cells in played[::2]] == [dashes, ["2", "100.0"], dashes]
    assert [cells[:2] for cells in played[1::2]] == [
        ["32", "100.0"],
        ["32", "100.0"],
        ["32", "40.6"],
    ]
    reports = re.findall(r"^Report +(.*)$", printed, re.MULTILINE)
    assert len(reports) == 2
    assert all((tmp_path / report).is_file() for report in reports)
    [record] = tmp_path.glob("runs/oracle*/run.json")
    assert json.loads(record.read_text())["command"] == f"ragen-bench {SCRIPTED[1]}"
    episodes = [file.read_bytes() for file in tmp_path.glob("runs/*/episodes.jsonl")]
    assert main(["demo"]) == 0
    assert capsys.readouterr().out.endswith(printed)
    assert [file.read_bytes() for file in tmp_path.glob("runs/*/episodes.jsonl")] == episodes


def test_the_agent_plays_instances_that_the_suite_has():
    whole, part = (evaluate._build_evaluation(words.split()) for words in evaluate.PLAYERS)
    assert part.instances.items() < whole.instances.items() == SUITES["quick"].instances.items()
