"""Claims, verdicts and Holm's correction: which runs count, with which sign."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.studies.judging import StudyEstimate, decide, judge_claims, over_seeds
from ragen_starpo.studies.outcomes import Outcome
from ragen_starpo.studies.study import Arm, Claim, Model, Study

LAST = {"a": (0.5, 0.7, 0.6), "b": (0.1, 0.2, 0.3), "c": (0.3, 0.4, 0.5)}
ENV = "ragen/Bandit-v0"


def study(*claims):
    arms = {name: Arm("m") for name in LAST}
    return Study("?", {"small": ()}, arms, claims, {"m": Model((ENV,))}, seeds=3)


def outcomes(**problems):
    return [
        Outcome(
            arm,
            seed,
            f"runs/{arm}/seed-{seed}",
            problems.get(arm, "") if seed == 1 else "",
            {"last": value},
            {},
            {ENV: [value, 1 - value], "other": [1.0, value, value]},
        )
        for arm, values in LAST.items()
        for seed, value in enumerate(values)
    ]


def test_a_difference_is_that_of_the_means_of_both_sides():
    claim = Claim("a and b against c", "here", "last", ("a", "b"), ("c",), 0.01)
    alone = Claim("b", "here", "last", ("b",), (), 0.0)
    first, second = judge_claims(study(claim, alone), outcomes(), range(3))
    assert first.differences == pytest.approx([0.0, 0.05, -0.05])
    assert second.differences == pytest.approx([0.1, 0.2, 0.3])
    assert (first.verdict.margin, second.verdict.margin) == (0.01, 0.0)
    assert second.verdict.mean == pytest.approx(0.2)
    assert sorted([first.verdict.level, second.verdict.level]) == pytest.approx([0.975, 0.975])


def test_a_claim_among_collapsed_runs_is_about_them_by_seed():
    claim = Claim("", "", "warning_lead", ("a", "b"), (), 1.0, "collapsed")
    runs = outcomes()
    leads = {("a", 0): 2.0, ("b", 0): 4.0, ("b", 2): 7.0}
    for run in runs:
        lead = leads.get((run.arm, run.seed))
        run.figures.update(collapsed=float(lead is not None), warning_lead=lead)
    (of_two_seeds,) = judge_claims(study(claim), runs, range(3))
    assert of_two_seeds.differences == [3, 7]
    assert (of_two_seeds.verdict.mean, of_two_seeds.verdict.margin) == (5, 1.0)
    (of_one,) = judge_claims(study(replace(claim, plus=("a",))), runs, range(3))
    assert of_one.problem == "runs of fewer than two seeds collapsed"
    (lacking,) = judge_claims(study(replace(claim, figure="truth")), runs, range(3))
    assert lacking.verdict is None
    assert "runs/b/seed-2: has no truth" in lacking.problem
    assert "seed-1" not in lacking.problem


@pytest.mark.parametrize("env", [ENV, "Bandit-v0"])
def test_failures_are_compared_in_one_environment_or_in_all(env):
    runs = outcomes()
    for run in runs:
        run.figures.update({"failures_alike": 0.5, f"failures_alike/{ENV}": run.figures["last"]})
    claim = Claim("", "", "failures_alike", ("a",), ("b",))
    (of_all,) = judge_claims(study(claim), runs, range(3))
    assert of_all.differences == [0, 0, 0]
    (of_one,) = judge_claims(study(replace(claim, env=env)), runs, range(3))
    assert of_one.differences == pytest.approx([0.4, 0.5, 0.3])
    (of_none,) = judge_claims(study(replace(claim, env="Sokoban-v0")), runs, range(3))
    assert of_none.problem.startswith("runs/a/seed-0: has no failures_alike in Sokoban-v0")


@pytest.mark.parametrize("env", [ENV, "Bandit-v0"])
def test_a_claim_may_be_about_one_environment(env):
    claim = Claim("", "", "test", ("a",), ("b",), env="other")
    (found,) = judge_claims(study(claim), outcomes(), range(3))
    assert found.differences == pytest.approx([0.8 / 3, 1 / 3, 0.6 / 3])
    (found,) = judge_claims(study(replace(claim, env=env)), outcomes(), range(3))
    assert found.differences == pytest.approx([0, 0, 0])
    (found,) = judge_claims(study(replace(claim, env="Chess-v0")), outcomes(), range(3))
    assert "runs/a/seed-0: has no test" in found.problem


def test_gains_are_judged_by_instance():
    runs = [replace(run, gains={ENV: [run.figures["last"], 0.0]}) for run in outcomes()]
    claimed = replace(study(), test_first=True, claims=(Claim("", "", "test_gain", ("a",)),))
    (found,) = judge_claims(claimed, runs, range(3))
    assert found.differences == pytest.approx([0.25, 0.35, 0.3])
    (by_test,) = judge_claims(study(Claim("", "", "test", ("a",))), runs, range(3))
    assert by_test.differences != found.differences
    (lacking,) = judge_claims(claimed, outcomes(), range(3))
    assert "runs/a/seed-0: has no test_gain" in lacking.problem


def test_test_success_is_judged_by_instance():
    (found,) = judge_claims(study(Claim("", "", "test", ("a",), ("b",))), outcomes(), range(3))
    # A run of success v has a half in the one environment, and (1 + 2 v) / 3 in the other.
    assert found.differences == pytest.approx([0.4 / 3, 0.5 / 3, 0.3 / 3])
    assert found.verdict.mean == pytest.approx(0.4 / 3)


def test_a_claim_about_a_failed_run_is_not_judged_and_still_corrected_for():
    claims = [Claim("", "", "last", (arm,)) for arm in "ab"]
    first, second = judge_claims(study(*claims), outcomes(b="it broke"), range(3))
    assert second.verdict is None
    assert second.problem == "runs/b/seed-1: it broke"
    assert first.verdict.level == pytest.approx(0.975)
    (lacking,) = judge_claims(study(Claim("", "", "gain", ("a",))), outcomes(), range(3))
    assert lacking.problem.startswith("runs/a/seed-0: has no gain; ")


def test_runs_that_were_not_tested_alike_are_not_judged():
    claim = Claim("", "", "test", ("a",), ("b",))
    untested = [replace(run, test={}) if run.seed == 2 else run for run in outcomes()]
    (found,) = judge_claims(study(claim), untested, range(3))
    assert found.problem == "runs/a/seed-2: has no test; runs/b/seed-2: has no test"
    fewer = [replace(run, test={ENV: [1.0]}) if run.arm == "b" else run for run in outcomes()]
    (found,) = judge_claims(study(claim), fewer, range(3))
    assert found.verdict is None
    assert "runs/b/seed-0 was tested on other instances than runs/a/seed-0" in found.problem


ESTIMATES = st.tuples(
    st.builds(
        StudyEstimate, st.floats(-3, 3), st.floats(0.01, 2), st.integers(2, 40), st.just(True)
    ),
    st.floats(0, 0.5),
)


@given(st.lists(ESTIMATES, min_size=1, max_size=6))
def test_corrected_p_values_are_holms(estimates):
    raw = sorted(estimate.p_value(margin) for estimate, margin in estimates)
    corrected, largest = [], 0.0
    for place, value in enumerate(raw):
        largest = max(largest, min(1.0, value * (len(raw) - place)))
        corrected.append(largest)
    assert sorted(found.p_value for found in decide(estimates)) == pytest.approx(corrected)


@given(st.lists(ESTIMATES, min_size=1, max_size=6))
def test_a_claim_is_decided_where_its_interval_is_on_one_side_of_the_margin(estimates):
    for verdict in decide(estimates):
        low, high = verdict.interval
        if abs(verdict.p_value - 0.05) > 1e-6:
            assert (verdict.word == "held") == (low > verdict.margin)
            assert (verdict.word == "not held") == (high < verdict.margin)


def test_one_claim_needs_no_correction_and_a_second_one_widens():
    sure = over_seeds(np.array([0.3, 0.31, 0.29, 0.3, 0.32]))
    doubtful = over_seeds(np.array([0.3, 0.1, 0.0, 0.2, 0.1]))
    (alone,) = decide([(doubtful, 0.0)])
    assert (alone.word, alone.level) == ("undecided", 0.95)
    first, second = decide([(doubtful, 0.0), (sure, 0.0)])
    assert (first.level, second.level) == (0.95, 0.975)
    assert (first.word, second.word) == ("undecided", "held")
    first, second = decide([(doubtful, 0.0), (doubtful, 0.0)])
    assert (first.level, second.level) == (0.975, 0.975)
    (against,) = decide([(sure, 0.4)])
    assert (against.word, against.mean) == ("not held", pytest.approx(0.304))


def test_a_claim_behind_an_undecided_one_is_undecided():
    """Two p-values of 0.03: the first misses its 0.025, so the second is not tested at 0.05."""
    values = np.array([1.0, 0.6, 0.3, 1.6, 0.2])
    estimate = over_seeds(values)
    margin = estimate.interval(0.97)[0]
    assert estimate.p_value(margin) == pytest.approx(0.03)
    assert [found.word for found in decide([(estimate, margin)] * 2)] == ["undecided"] * 2
    assert decide([(estimate, margin)])[0].word == "held"
