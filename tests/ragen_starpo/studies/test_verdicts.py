"""Verdicts and Holm's correction, against a reading of its definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.studies.estimates import StudyEstimate, over_seeds
from ragen_starpo.studies.verdicts import verdicts

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
    assert sorted(found.p_value for found in verdicts(estimates)) == pytest.approx(corrected)


@given(st.lists(ESTIMATES, min_size=1, max_size=6))
def test_a_claim_is_decided_where_its_interval_is_on_one_side_of_the_margin(estimates):
    for verdict in verdicts(estimates):
        low, high = verdict.interval
        if abs(verdict.p_value - 0.05) > 1e-6:
            assert (verdict.word == "held") == (low > verdict.margin)
            assert (verdict.word == "not held") == (high < verdict.margin)


def test_one_claim_needs_no_correction_and_a_second_one_widens():
    sure = over_seeds(np.array([0.3, 0.31, 0.29, 0.3, 0.32]))
    doubtful = over_seeds(np.array([0.3, 0.1, 0.0, 0.2, 0.1]))
    (alone,) = verdicts([(doubtful, 0.0)])
    assert (alone.word, alone.level) == ("undecided", 0.95)
    first, second = verdicts([(doubtful, 0.0), (sure, 0.0)])
    assert (first.level, second.level) == (0.95, 0.975)
    assert (first.word, second.word) == ("undecided", "held")
    first, second = verdicts([(doubtful, 0.0), (doubtful, 0.0)])
    assert (first.level, second.level) == (0.975, 0.975)
    (against,) = verdicts([(sure, 0.4)])
    assert (against.word, against.mean) == ("not held", pytest.approx(0.304))


def test_a_claim_behind_an_undecided_one_is_undecided():
    """Two p-values of 0.03: the first misses its 0.025, so the second is not tested at 0.05."""
    values = np.array([1.0, 0.6, 0.3, 1.6, 0.2])
    estimate = over_seeds(values)
    margin = estimate.interval(0.97)[0]
    assert estimate.p_value(margin) == pytest.approx(0.03)
    assert [found.word for found in verdicts([(estimate, margin)] * 2)] == ["undecided"] * 2
    assert verdicts([(estimate, margin)])[0].word == "held"
