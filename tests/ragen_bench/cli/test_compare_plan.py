"""`plan` as its user types it."""

import json
from statistics import fmean, variance

import pytest

from tests.ragen_bench.cli.command import run

FOUND = 1.959963984540054 + 0.8416212335729143


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for seed in "01":
        options = ["--env", "Bandit-v0", "--limit", "24", "--samples", "3", "--seed", seed]
        assert run("evaluate", "random", *options, "--out", seed, cwd=folder).returncode == 0
    return folder


def successes(folder):
    instances = {}
    for line in (folder / "episodes.jsonl").read_text().splitlines():
        episode = json.loads(line)
        instances.setdefault(episode["index"], []).append(float(episode["success"]))
    return instances


def test_without_a_run_the_formula_of_what_is_assumed(tmp_path):
    done = run("plan", "--difference", "4", "--suite", "quick", "--json", "x.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "x.json").read_text())
    assert found["envs"] == {
        "ragen/Bandit-v0": 32,
        "ragen/Sokoban-v0": 16,
        "ragen/FrozenLake-v0": 16,
    }
    assert found["assumed"] == {"success": 0.5, "share": 0.5, "correlation": 0.5}
    assert [row["samples"] for row in found["rows"]] == [1, 2, 4, 8, 16]
    for row in found["rows"]:
        for name, between in (("unpaired", 0.25), ("paired", 0.125)):
            each = between + 0.25 / row["samples"]
            error = (each / 32 + 2 * each / 16) ** 0.5 / 3
            assert row["find"][name] == pytest.approx(FOUND * error, abs=1e-6)
            wanted = (FOUND / 0.04) ** 2 * each / 3
            assert wanted <= row["instances"][name] < wanted + 1
            assert f"{row['instances'][name]:,}" in done.stdout
    assert "Assumed: a success of 50 %" in done.stdout


def test_two_runs_tell_the_spread(runs):
    done = run("plan", "--like", "0", "--like", "1", "--json", cwd=runs)
    found = json.loads(done.stdout)
    assert found["assumed"] == {}
    assert found["envs"] == {"ragen/Bandit-v0": 24}
    a, b = successes(runs / "0"), successes(runs / "1")
    differences = [fmean(a[index]) - fmean(b[index]) for index in a]
    # Three samples were played: what they tell is the variance of the differences themselves.
    within = sum(fmean(variance(side[index]) for index in side) for side in (a, b))
    between = max(variance(differences) - within / 3, 0)
    for row in found["rows"]:
        error = ((between + within / row["samples"]) / 24) ** 0.5
        assert row["find"]["paired"] == pytest.approx(FOUND * error, abs=1e-6)


def test_one_run_leaves_the_correlation_to_be_assumed(runs):
    done = run("plan", "--like", "0", cwd=runs)
    assert "Assumed: a correlation of 50 % between models over instances" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--difference", "0"], "--difference must be above 0 and below 100, got 0"),
        (["--success", "100"], "--success must be above 0 and below 100, got 100"),
        (["--like", "0", "--like", "0", "--like", "0"], "--like takes one or two runs, got 3"),
        (["--like", "0", "--suite", "quick"], "has success on 0 instances of ragen/Sokoban-v0"),
        (["--suite", "qick"], "did you mean quick?"),
        (["--like", "nowhere"], "nowhere holds no run"),
    ],
)
def test_a_mistake_gets_one_line(runs, arguments, says):
    done = run("plan", *arguments, cwd=runs)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
