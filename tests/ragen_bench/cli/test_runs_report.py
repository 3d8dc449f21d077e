"""`report` as its user types it: costs, answers that were cut, and a run without suite score."""

import json

import pytest
from scipy.stats import binom

from ragen_bench import Run
from ragen_bench.statistics import wilson
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
    [
        (0, None),
        (25, ". Cost 0.0004 EUR, 0.0002 per success.\n"),
        (100_000, ". Cost 1.60 EUR, 0.8 per success.\n"),
    ],
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
    output = " ".join(done.stdout.split())
    assert "No mean of norm.: some environments have no norm. Incomplete:" in output
    assert "Incomplete: 2 of 4 episodes." in output
    assert "No mean: some environments" in (tmp_path / "run" / "report.html").read_text()


def test_answers_that_were_cut_are_named(tmp_path):
    run("evaluate", "random", "--env", "Bandit-v0", "--limit", "2", "--out", "run", cwd=tmp_path)
    file = tmp_path / "run" / "episodes.jsonl"
    file.write_text(file.read_text().replace('"finish":"stop"', '"finish":"length"', 1))
    output = run("report", "run", cwd=tmp_path).stdout
    assert "\nDrops   1 of 2 episodes: 1 cut at 200 tokens" in output


def test_other_levels_and_exact_intervals_are_printed_beside_the_table(tmp_path):
    envs = ["--env", "Bandit-v0", "--env", "FrozenLake-v0", "--limit", "12"]
    run("evaluate", "random", *envs, "--out", "run", cwd=tmp_path)
    summary = (tmp_path / "run/summary.json").read_bytes()
    done = run("report", "run", "--confidence", "99", "--exact", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (
        json.loads(summary)["envs"]
        == json.loads((tmp_path / "run/summary.json").read_text())["envs"]
    )
    found = Run(tmp_path / "run").estimate_success(0.99, exact=True)
    for env, figures in found.items():
        solved = round(12 * figures.value)
        low, high = figures.interval
        if solved:
            assert binom.sf(solved - 1, 12, low) == pytest.approx(0.005)
        if solved < 12:
            assert binom.cdf(solved, 12, high) == pytest.approx(0.005)
        line = f"{env.partition('/')[2]}  success {100 * figures.value:.1f}, 99 %: "
        assert f"{line}{100 * low:.1f} - {100 * high:.1f} (Clopper-Pearson)\n" in done.stdout
    assert len(found) == 2
    wilsons = Run(tmp_path / "run").estimate_success(0.9)["ragen/Bandit-v0"]
    assert wilsons.interval == wilson(round(12 * wilsons.value), 12, 0.9)


def test_what_has_no_exact_interval_is_refused_in_one_line(tmp_path):
    run(
        "evaluate",
        "random",
        "--env",
        "Bandit-v0",
        "--limit",
        "2",
        "--samples",
        "2",
        "--out",
        "run",
        cwd=tmp_path,
    )
    for options, says in (
        (["--exact"], "exact intervals need one sample per instance, and the run has more"),
        (["--confidence", "100"], "a confidence level is between 0 and 1 (0 and 100 %), got 1"),
    ):
        done = run("report", "run", *options, cwd=tmp_path)
        assert done.returncode == 2
        assert says in done.stderr
        assert done.stderr.count("\n") == 1
