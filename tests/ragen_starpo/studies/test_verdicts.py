"""Verdicts: intervals against SciPy and by simulation, words by known effects, gates and looks."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ragen_bench.statistics import holm
from ragen_starpo.studies.definition import Knob, read_study
from ragen_starpo.studies.store import run_study
from ragen_starpo.studies.verdicts import Sample, decide, over_clusters, over_warm_starts, spend
from tests.ragen_starpo.studies.stand_in import StandIn, claim, make_study


def judge_here(study, run_arm, folder, looks=None):
    (folder / "arms").mkdir(parents=True, exist_ok=True)
    return run_study(study, folder, run_arm, "cpu", lambda progress: None, looks).verdicts


@given(
    st.lists(st.floats(-5, 5).map(lambda x: round(x, 3)), min_size=4, max_size=9).filter(
        lambda values: np.std(values) > 1e-3
    )
)
def test_intervals_and_p_values_are_students_t(values):
    estimate = over_clusters(np.array(values))
    reference = stats.ttest_1samp(values, 0)
    expected = reference.confidence_interval(0.9)
    assert estimate.interval(0.9) == pytest.approx((expected.low, expected.high), abs=1e-9)
    if abs(estimate.mean) > 1e-9:
        assert estimate.p_differs() == pytest.approx(reference.pvalue, abs=1e-9)


@given(st.floats(0.1, 4), st.floats(0.5, 5))
def test_two_values_are_the_same_where_the_interval_is_within_the_margins(mean, margin):
    estimate = over_clusters(mean + np.array([-1.0, 0.2, 0.3, 0.5]))
    level = 1 - estimate.p_same(margin)
    if mean >= margin:
        assert level == pytest.approx(0, abs=1e-9)
    else:
        assert estimate.interval(level)[1] == pytest.approx(margin, abs=1e-6)


@pytest.mark.parametrize("seeds", [4, 8])
@pytest.mark.parametrize("between", [0.0, 1.0, 3.0])
def test_intervals_cover_at_their_level_with_any_variance_of_warm_starts(seeds, between):
    generator = np.random.default_rng(7)
    covered = []
    for _ in range(4000):
        warm_starts = generator.normal(0, between, (8, 1))
        low, high = over_warm_starts(warm_starts + generator.normal(0, 2, (8, seeds))).interval(
            0.95
        )
        covered.append(low <= 0 <= high)
    assert 0.93 < np.mean(covered) < 0.97


def test_warm_starts_without_a_value_are_left_out():
    values = np.full((6, 2), math.nan)
    values[:4] = [[1, 3], [math.nan, 4], [0, 0], [2, 2]]
    estimate = over_warm_starts(values)
    assert (estimate.mean, estimate.clusters) == (2.0, 4)
    values[0] = math.nan
    assert over_warm_starts(values) is None


def test_all_runs_with_a_value_count_whatever_those_of_the_other_arms_have(tmp_path):
    file = read_study("signs")
    [about] = [one for one in file.claims if one.metric == "monitor_recall"]
    sample = Sample(file, {}, 2)
    pattern = {"grpo": [[100, 0]], "ppo": [[math.nan, 100]], "dr-grpo": [[math.nan, math.nan]]}
    sample.metric = lambda arm, _: np.array(pattern[arm] * file.warm_starts, dtype=float)
    assert sample.difference(about).mean == pytest.approx(200 / 3 - 50)


def test_looks_spend_what_obrien_and_fleming_do():
    assert spend([4, 8]) == pytest.approx([0.1115, 0.8885], abs=2e-4)
    assert sum(spend([4, 8, 16])) == pytest.approx(1)
    assert spend([4, 8, 16])[:2] == pytest.approx([0.0018, 0.1098], abs=2e-4)


def test_each_effect_has_its_word(tmp_path):
    study = make_study(
        claim("up"), claim("down"), claim("alike", same=6.0), claim("alike", same=0.5)
    )
    words = [verdict.word for verdict in judge_here(study, StandIn(noise=3.0), tmp_path)]
    assert words == ["higher", "lower", "the same", "undecided"]


def test_a_small_difference_within_the_margins_is_the_same(tmp_path):
    effects = {"base": 0.0, "up": 2.0}
    verdict = judge_here(
        make_study(claim(same=4.0), effects=effects), StandIn(effects, noise=0.5), tmp_path
    )[0]
    assert verdict.word == "the same"
    assert verdict.estimate.interval(verdict.level)[0] > 0


def test_what_is_decided_at_the_first_look_is_not_run_again(tmp_path):
    effects = {"base": 0.0, "far": 40.0, "near": 3.0}
    run_arm = StandIn(effects, noise=5.0)
    study = make_study(claim("far"), claim("near"), effects=effects)
    far, near = judge_here(study, run_arm, tmp_path)
    assert (far.word, far.seeds, near.seeds) == ("higher", 4, 8)
    assert run_arm.calls == [(0, 32), (1, 32), (2, 32), (0, 32), (2, 32)]


def test_each_claim_has_its_part_of_the_error_rate(tmp_path):
    effects = {"base": 0.0, "far": 40.0, "near": 3.0}
    study = make_study(claim("far"), claim("near"), effects=effects)
    far, near = judge_here(study, StandIn(effects, noise=5.0), tmp_path)
    first, second = spend([4, 8])
    assert far.level == pytest.approx(1 - 0.05 / 2 * first)
    assert near.level == pytest.approx(1 - 0.05 / 2 * second)


@pytest.mark.parametrize(
    ("claims", "effect", "right", "by_holm"),
    [
        (4, 0.0, "the same", 0.12),
        (8, 0.0, "the same", 0.19),
        (4, 1.0, "higher", 0.06),
        (8, 1.0, "higher", 0.12),
    ],
)
def test_right_verdicts_do_not_make_wrong_ones_more_frequent(claims, effect, right, by_holm):
    """As they would with Holm's step-down."""
    generator = np.random.default_rng(3)
    wrong, wrong_by_holm = [], []
    for _ in range(2000):
        means = effect + generator.normal(0, math.sqrt(32) / 4, (claims, 32))
        estimates = [over_clusters(values) for values in means]
        words = {decide(estimate, 1.0, 0.05 / claims) for estimate in estimates}
        wrong.append(bool(words - {right, "undecided"}))
        p_values = [min(one.p_differs(), one.p_same(1.0)) for one in estimates]
        words = {
            decide(estimate, 1.0, math.nextafter(p_value, 1))
            for estimate, p_value, adjusted in zip(estimates, p_values, holm(p_values), strict=True)
            if adjusted < 0.05
        }
        wrong_by_holm.append(bool(words - {right}))
    assert np.mean(wrong) < 0.062  # 5 % and 2.5 standard errors
    assert np.mean(wrong_by_holm) == pytest.approx(by_holm, abs=0.01)


def test_false_verdicts_are_as_rare_as_the_level_says(tmp_path):
    effects = dict.fromkeys(("base", "a", "b", "c"), 0.0)
    study = make_study(
        *(claim(arm, same=0.001) for arm in "abc"), effects=effects, warm_starts=4, iterations=20
    )
    wrong = 0
    for salt in range(150):
        run_arm = StandIn(effects, salt=salt)
        wrong += any(
            verdict.word != "undecided"
            for verdict in judge_here(study, run_arm, tmp_path / str(salt))
        )
    assert wrong <= 14  # 5 % of 150 are 7.5; more than 14 has a chance of 1 %


def test_nothing_is_testable_if_the_reference_arm_does_not_learn(tmp_path):
    verdict = judge_here(make_study(claim()), StandIn(gain=14.0), tmp_path)[0]
    assert verdict.word == "not testable here"
    assert verdict.why.startswith("success of the baseline base rises by 1")
    assert verdict.seeds == 4


@pytest.mark.parametrize(
    ("bounds", "why"),
    [
        ({"least": 0.02}, "clip_fraction is 0.01 in up, not above 0.02"),
        ({"most": 0.005}, "clip_fraction is 0.01 in up, not below 0.005"),
        ({"least": 0.005}, ""),
    ],
)
def test_a_knob_that_does_not_act_tests_nothing(tmp_path, bounds, why):
    study = make_study(claim(knob=Knob("up", "clip_fraction", **bounds)))
    verdict = judge_here(study, StandIn(curves={"clip_fraction": 0.01}), tmp_path)[0]
    assert (verdict.why, verdict.word == "higher") == (why, not why)
    assert verdict.knob == pytest.approx(0.01)


def test_two_arms_of_one_algorithm_test_nothing(tmp_path):
    """As estimators are that differ in later turns, in a game of one turn."""

    class Equal(StandIn):
        def _level(self, arm, start, seed):
            return super()._level(0, start, seed)

    class Tested(Equal):  # the same training, tested in different games
        def __call__(self, task, settings, **more):
            runs = super().__call__(task, settings, **more)
            return replace(runs, test=runs.test + 0.01 * len(self.calls))

    alike, other = judge_here(make_study(claim("alike"), claim("up", "")), Equal(), tmp_path)
    tested = judge_here(make_study(claim("alike", metric="test")), Tested(), tmp_path / "tested")[0]
    assert tested.word != "not testable here"
    assert alike.word == "not testable here"
    assert alike.why == "alike and base are the same algorithm in this game"
    assert other.word == "higher"


def test_a_knob_without_its_curve_tests_nothing(tmp_path):
    study = make_study(claim(knob=Knob("up", "kl_from_reference", most=1.0)))
    verdict = judge_here(study, StandIn(), tmp_path)[0]
    assert verdict.word == "not testable here"
    assert verdict.why == "up records no kl_from_reference"


@pytest.mark.parametrize(("fallen", "word"), [({}, "not testable here"), ({3: 2}, "higher")])
def test_claims_about_collapse_need_collapses(tmp_path, fallen, word):
    about = claim("alike", metric="collapse_time", about_collapse=True, same=2.0)
    verdict = judge_here(make_study(about), StandIn(collapse=fallen), tmp_path)[0]
    assert verdict.word == word
    if fallen:
        assert verdict.levels["base"] < verdict.levels["alike"] == 60


def test_undecided_claims_about_collapse_have_a_third_look(tmp_path):
    about = claim("alike", metric="collapsed", about_collapse=True, same=0.1)
    run_arm = StandIn(collapse={2: 2, 3: 2})
    verdict = judge_here(make_study(about), run_arm, tmp_path)[0]
    assert sum(runs for arm, runs in run_arm.calls if arm == 3) == 128
    assert verdict.seeds == 16


def test_a_claim_without_minus_is_compared_with_a_number(tmp_path):
    verdict = judge_here(
        make_study(claim(minus="", metric="best", than=50.0)), StandIn(noise=1.0), tmp_path
    )[0]
    assert verdict.word == "higher"
    assert verdict.estimate.mean == pytest.approx(22, abs=1)
