"""`report` as its user types it: what the tokens cost, and when there is no suite score."""

import json

import pytest
from rich.console import Console

from ragen_bench.console.summary import cut_answers, summary_table
from tests.ragen_bench.cli.command import run

PRICES = """\
currency = "EUR"

[[price]]
models = ["random"]
prompt = 1.00
completion = 4.00
"""


@pytest.mark.parametrize(
    ("tokens", "says"),
    [(0, None), (25, "Cost    0.0004 EUR\n"), (100_000, "Cost    1.60 EUR\n")],
)
def test_a_cost_below_a_cent_is_not_called_nothing(tmp_path, tokens, says):
    played = ["evaluate", "random", "--env", "Bandit-v0", "--limit", "4", "--out", "run"]
    assert run(*played, cwd=tmp_path).returncode == 0
    file = tmp_path / "run" / "episodes.jsonl"
    episodes = [json.loads(line) for line in file.read_text().splitlines()]
    for episode in episodes:
        episode["turns"][0]["completion_tokens"] = tokens
    file.write_text("".join(json.dumps(episode) + "\n" for episode in episodes))
    (tmp_path / "prices.toml").write_text(PRICES)
    done = run("report", "run", "--prices", "prices.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    if says is None:
        assert "Cost" not in done.stdout
    else:
        assert says in done.stdout


def test_without_one_of_its_environments_a_run_has_no_suite_score(tmp_path):
    envs = ["--env", "Bandit-v0", "--env", "Sokoban-v0"]
    played = run("evaluate", "random", *envs, "--limit", "2", "--out", "run", cwd=tmp_path)
    assert "Mean of norm." in played.stdout
    file = tmp_path / "run" / "episodes.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:2]))
    done = run("report", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "No mean of norm.: not every environment has a norm. Success, form" in said
    assert "Incomplete: 2 of 4 episodes." in said
    assert "No mean: not every" in (tmp_path / "run" / "report.html").read_text()


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
    said = " ".join(captured.get().split())
    assert "Mean of norm. 0.000 [0.000, 0.500]. Success" in said
    assert "-0.00" not in said


def test_answers_that_were_cut_are_named(tmp_path):
    rows = [{"turns": 30, "cut": 0.1}, {"turns": 10, "cut": 0.5}, {"turns": 0, "cut": None}]
    assert cut_answers({"envs": rows}, 64) == "20.0 % of answers were cut at 64 tokens"
    assert cut_answers({"envs": [{"turns": 9, "cut": 0.0}]}, 64) == ""
    run("evaluate", "random", "--env", "Bandit-v0", "--limit", "2", "--out", "run", cwd=tmp_path)
    file = tmp_path / "run" / "episodes.jsonl"
    file.write_text(file.read_text().replace('"finish":"stop"', '"finish":"length"', 1))
    said = run("report", "run", cwd=tmp_path).stdout
    assert "\n50.0 % of answers were cut at 200 tokens\n" in said
