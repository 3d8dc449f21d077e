"""Runs that are no entry: other instances, versions, seeds, splits."""

import pytest

from ragen_bench.suites import SUITES
from tests.ragen_bench.leaderboard.entries import (
    edit_entry,
    entry_of,
    evaluation,
    problems_of,
    records,
)


def config(**changes):
    return lambda entry: entry["run"].update(changes)


def env(number, **changes):
    return lambda entry: entry["run"]["envs"][number].update(changes)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (
            env(0, spec_hash="0" * 16),
            'envs[0].spec_hash: recorded "0000000000000000", recomp',
        ),
        (config(prompt_hash="0" * 16), 'prompt_hash: recorded "0000000000000000", recomp'),
        (config(suite_hash="0" * 16), 'suite_hash: recorded "0000000000000000", recomp'),
        (config(max_tokens=41), "suite_hash: recorded "),
        (config(history=1), "prompt_hash: recorded "),
        (config(response_format="answer"), "prompt_hash: recorded "),
        (
            config(suite_version=2),
            "the run is of version 2 of the suite tiny, which has version 3 here; evaluate with",
        ),
        (
            config(suite="../tiny"),
            "the run is of the unknown suite '../tiny'; an entry is",
        ),
        (config(suite="quick"), "the run is of version 3 of the suite quick, which has version 1"),
        (config(seed=1), "the run has the seed 1, and could be the best of many; evaluate"),
        (config(samples=17), "the run has samples: 17; evaluate with --samples 16 at most"),
        (
            env(1, instances=3),
            "the run has 3 of the 4 instances of ragen/FrozenLake-v0; evaluate without --limit",
        ),
        (
            env(1, instances=5),
            "the run's environments are not those of the suite tiny; evaluate with --suite tiny",
        ),
        (
            lambda entry: entry["run"]["envs"].reverse(),
            "the run's environments are not those of the suite tiny; evaluate with --suite tiny",
        ),
        (
            lambda entry: entry["run"]["envs"].pop(),
            "the run's environments are not those of the suite tiny; evaluate with --suite tiny",
        ),
        (env(1, id="ragen/Sokoban-v0"), "run names an environment twice"),
        (env(1, id="ragen/Other-v0"), "run names the unknown environment "),
        (config(sealed_key_hash="0" * 64), "the run is of the test split and names a sealed key"),
    ],
)
def test_other_settings_are_refused(entry, edit, says):
    edit_entry(entry, edit)
    (problem, *_) = problems_of(entry)
    assert problem.startswith(f"run: {says}")


def test_a_suite_may_demand_more_samples(tmp_path, entry, monkeypatch):
    path = entry_of(tmp_path / "two", evaluation(suite="twice", samples=2))
    assert problems_of(path) == []
    edit_entry(path, config(samples=1))
    assert problems_of(path) == [
        "run: the run has samples: 1, and the suite needs 2; evaluate with --samples 2"
    ]


def test_a_constrained_run_passed_off_as_free_is_not_seen(tmp_path):
    path = entry_of(tmp_path, evaluation(suite="bandit", constrain=True))
    edit_entry(path, config(constrained=False))
    assert problems_of(path) == []


def test_a_sealed_entry_needs_its_key(tmp_path, monkeypatch):
    from ragen_envs.core.sealed import SealedKeyError, new_key

    monkeypatch.setenv("RAGEN_SEALED_KEY", new_key())
    path = entry_of(tmp_path, evaluation(suite="bandit", split="sealed"))
    assert problems_of(path) == []
    assert {record["split"] for record in records(path)} == {"sealed"}
    monkeypatch.setenv("RAGEN_SEALED_KEY", new_key())
    assert problems_of(path)[0].startswith(("run: sealed_key_hash: rec", "run: suite_hash: rec"))
    assert any("sealed_key_hash: recorded" in one for one in problems_of(path))
    monkeypatch.delenv("RAGEN_SEALED_KEY")
    with pytest.raises(SealedKeyError, match="needs the host's key"):
        problems_of(path)


def test_every_suite_can_have_entries():
    assert all(suite.samples >= 1 for suite in SUITES.values())
