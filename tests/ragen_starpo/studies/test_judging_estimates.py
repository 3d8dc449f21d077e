"""Means over seeds and instances: against SciPy, by simulation, and at their edges."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ragen_starpo.studies.judging import StudyEstimate, over_seeds, over_seeds_and_instances


@given(
    st.lists(st.floats(-5, 5).map(lambda x: round(x, 3)), min_size=2, max_size=9).filter(
        lambda values: len(set(values)) > 1
    ),
    st.floats(-1, 1),
)
def test_over_seeds_it_is_students_t(values, margin):
    estimate = over_seeds(np.array(values))
    reference = stats.ttest_1samp(values, margin)
    assert estimate.p_value(margin) == pytest.approx(reference.pvalue, abs=1e-9)
    expected = reference.confidence_interval(0.9)
    assert estimate.interval(0.9) == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.parametrize(("seeds", "expected"), [(2, 0.5), (5, 0.0625), (6, 0.03125)])
def test_equal_seeds_are_told_from_the_margin_by_their_signs(seeds, expected):
    for estimate in (
        over_seeds(np.ones(seeds)),
        over_seeds(np.array([0.3 - 0.2, 0.4 - 0.3, 0.5 - 0.4, 0.8 - 0.7, 0.2 - 0.1, 0.1])[:seeds]),
        over_seeds_and_instances([np.full((seeds, 100), 0.7)]),
        # All seeds solve the same instances: of their spread that says nothing either.
        over_seeds_and_instances([np.tile(np.arange(256) < 40, (seeds, 1)).astype(float)]),
    ):
        assert estimate.p_value(-3.0) == pytest.approx(expected)
        assert estimate.p_value(estimate.mean) == 1
        assert estimate.detectable(0.95) is None
    assert expected == stats.binomtest(seeds, seeds).pvalue
    assert over_seeds(np.array([0.3 - 0.2, 0.4 - 0.3])).p_value(0.1) == 1


def test_the_error_is_that_of_the_layout():
    """A variance of 4 over three seeds and of 9 over two instances, and no interaction."""
    values = np.array([-2.0, 0.0, 2.0])[:, None] + np.array([-3.0, 3.0]) / math.sqrt(2)
    estimate = over_seeds_and_instances([values])
    assert estimate.error == pytest.approx(math.sqrt(4 / 3 + 9 / 2))
    # A second environment of three instances, of a variance of 1, which the same seeds moved alike.
    other = 1 + np.array([-2.0, 0.0, 2.0])[:, None] + np.array([-1.0, 0.0, 1.0])
    both = over_seeds_and_instances([values, other])
    assert both.mean == pytest.approx(0.5)
    assert both.error == pytest.approx(math.sqrt(4 / 3 + (9 / 2 + 1 / 3) / 4))


def test_instances_without_a_part_leave_the_error_over_seeds():
    values = np.random.default_rng(3).normal(size=(5, 40))
    # Instances whose means are all alike vary less than the rest does.
    values -= values.mean(axis=0, keepdims=True)
    values += np.array([0.0, 0.1, 0.2, 0.3, 0.4])[:, None]
    both, seeds = over_seeds_and_instances([values]), over_seeds(values.mean(axis=1))
    assert both.error == pytest.approx(seeds.error)


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize(("of_seeds", "of_instances"), [(0.0, 0.0), (0.1, 0.3), (0.3, 0.1)])
def test_intervals_cover_the_mean_at_least_as_often_as_they_say(seeds, of_seeds, of_instances):
    noise = np.random.default_rng(11)
    covered, widest = 0, 0.0
    for _ in range(1000):
        values = noise.normal(0.2, 0.5, (seeds, 32))
        values += noise.normal(0, of_seeds, (seeds, 1)) + noise.normal(0, of_instances, (1, 32))
        low, high = over_seeds_and_instances([values]).interval(0.95)
        covered += low <= 0.2 <= high
        widest = max(widest, high - low)
    assert covered / 1000 >= 0.935
    assert widest < 30


def test_what_could_have_been_found_is_found_four_times_in_five():
    noise = np.random.default_rng(12)
    distance = StudyEstimate(0, 0.1, 100, True).detectable(0.95)
    found = sum(over_seeds(noise.normal(distance, 1, 100)).p_value(0.0) < 0.05 for _ in range(1000))
    assert 0.74 <= found / 1000 <= 0.86
