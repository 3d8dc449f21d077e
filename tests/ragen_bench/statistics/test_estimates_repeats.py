"""pass@k, pass^k and mean@k against all sets of k episodes."""

from itertools import combinations
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.statistics import (
    mean_at_k,
    mean_estimate,
    mean_over_instances,
    pass_at_k,
    pass_hat_k,
    wilson,
)

FIGURES = [pass_at_k, pass_hat_k]
ATTEMPTS = st.lists(st.booleans(), max_size=8)
K = st.integers(1, 9)


@given(ATTEMPTS, K)
def test_they_are_means_over_all_sets_of_k(attempts, k):
    found = [figure(len(attempts), sum(attempts), k) for figure in FIGURES]
    found.append(mean_at_k([float(each) for each in attempts], k))
    sets = list(combinations(attempts, k))
    if sets:
        expected = [fmean(map(any, sets)), fmean(map(all, sets)), fmean(map(fmean, sets))]
        assert found == pytest.approx(expected, abs=1e-12)
    else:
        assert found == [None] * 3


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7), st.integers(1, 7))
def test_mean_at_k_of_scores_is_the_mean_over_all_sets_of_k(scores, k):
    sets = list(combinations(scores, k))
    if sets:
        assert mean_at_k(scores, k) == pytest.approx(fmean(map(fmean, sets)))


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), st.data())
def test_pass_at_k_is_the_product_that_chen_et_al_compute(case, data):
    episodes, solved = case
    k = data.draw(st.integers(1, episodes))
    failed = 1.0
    for size in range(episodes - solved + 1, episodes + 1):
        failed *= max(0.0, 1 - k / size)
    assert pass_at_k(episodes, solved, k) == pytest.approx(1 - failed, abs=1e-9)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))), K)
def test_all_of_k_fail_where_not_one_of_k_succeeds(case, k):
    episodes, solved = case
    if episodes >= k:
        all_fail = pass_hat_k(episodes, episodes - solved, k)
        assert pass_at_k(episodes, solved, k) == pytest.approx(1 - all_fail)


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize(("episodes", "solved", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_what_cannot_be_is_refused(figure, episodes, solved, k):
    with pytest.raises(ValueError, match=r"of 3 episodes|k is at least 1"):
        figure(episodes, solved, k)


def test_k_of_0_is_refused_for_means_too():
    with pytest.raises(ValueError, match="k is at least 1, got 0"):
        mean_at_k([1.0], 0)


def test_over_instances_averages_with_an_interval():
    assert mean_over_instances([1.0, 0.0, 0.0, 1.0]) == (0.5, wilson(2, 4))
    values = [0.0, 0.25, 0.5, 1.0]
    assert mean_over_instances(values) == mean_estimate([[value] for value in values])


@pytest.mark.parametrize("values", [[], [None], [0.5, None, 1.0]])
def test_one_undefined_instance_leaves_the_mean_undefined(values):
    assert mean_over_instances(values) is None
