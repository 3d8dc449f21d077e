"""Paired differences against the formula of the standard error and against simulation."""

from math import sqrt
from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.statistics import compare_paired, wilson

VALUES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=3)
PAIRS = st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=12)


def single(values):
    return [[float(value)] for value in values]


@given(PAIRS)
def test_means_differences_and_counts(pairs):
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    found = compare_paired(a, b)
    assert found.a == pytest.approx(fmean(map(fmean, a)))
    assert found.b == pytest.approx(fmean(map(fmean, b)))
    assert found.difference.value == pytest.approx(found.a - found.b, abs=1e-12)
    fair = all(len(x) == len(y) for x, y in pairs)
    assert found.a_ahead == (sum(fmean(x) > fmean(y) for x, y in pairs) if fair else None)
    assert found.b_ahead == (sum(fmean(x) < fmean(y) for x, y in pairs) if fair else None)
    low, high = found.difference.interval
    assert -1 <= low <= high <= 1


def test_a_run_of_more_samples_is_not_said_to_be_ahead_oftener():
    generator = np.random.default_rng(2)
    four, one = ((generator.random((200, k)) < 0.2).astype(float).tolist() for k in (4, 1))
    found = compare_paired(four, one)
    low, high = found.difference.interval
    assert low < 0 < high
    # Of two equal players the one with more samples would be ahead on twice as many instances.
    means = [fmean(values) for values in four]
    ahead = [sum(x > y[0] for x, y in zip(means, one, strict=True))]
    ahead += [sum(x < y[0] for x, y in zip(means, one, strict=True))]
    assert ahead[0] > 2 * ahead[1]
    assert found.a_ahead is found.b_ahead is None


@given(PAIRS)
def test_turned_round_it_changes_sign(pairs):
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    one, other = compare_paired(a, b), compare_paired(b, a)
    low, high = other.difference.interval
    assert one.difference.interval == pytest.approx((-high, -low), abs=1e-12)
    assert (one.a, one.a_ahead) == (other.b, other.b_ahead)


def test_the_four_counts_of_mcnemar():
    both, only_a, only_b, none = 30, 12, 5, 53
    a = [1] * both + [1] * only_a + [0] * only_b + [0] * none
    b = [1] * both + [0] * only_a + [1] * only_b + [0] * none
    found = compare_paired(single(a), single(b))
    assert (found.a_ahead, found.b_ahead) == (only_a, only_b)
    assert found.difference.value == pytest.approx((only_a - only_b) / 100)


def test_the_interval_is_that_of_millers_standard_error():
    generator = np.random.default_rng(4)
    ease = generator.random(400)
    a = (generator.random((3, 400)) < ease).T.astype(float).tolist()
    b = (generator.random((3, 400)) < 0.8 * ease).T.astype(float).tolist()
    found = compare_paired(a, b).difference
    differences = [fmean(x) - fmean(y) for x, y in zip(a, b, strict=True)]
    half = 1.96 * stdev(differences) / sqrt(400)
    assert found.interval == pytest.approx((found.value - half, found.value + half), abs=0.1 * half)


def test_pairing_helps_where_the_same_instances_are_hard():
    generator = np.random.default_rng(6)
    a = (generator.random(300) < 0.5).astype(float)
    b = np.where(generator.random(300) < 0.1, 0.0, a)
    low, high = compare_paired(single(a), single(b)).difference.interval
    unpaired = 2 * 1.96 * sqrt((a.var() + b.var()) / 300)
    assert high - low < 0.6 * unpaired


def test_the_difference_is_covered():
    generator = np.random.default_rng(9)
    covered = 0
    for _ in range(300):
        chance = generator.random(100)
        a = chance < 0.3
        b = (chance >= 0.25) & (chance < 0.45)
        low, high = compare_paired(single(a), single(b)).difference.interval
        covered += low - 1e-9 <= 0.1 <= high + 1e-9
    # 95 % of 300 is 285, with a standard deviation of 3.8.
    assert 271 <= covered <= 298


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_runs_that_agree_everywhere_leave_room_for_doubt(value):
    share = wilson(0, 50)[1]
    found = compare_paired([[value]] * 50, [[value]] * 50)
    assert found.difference == (0.0, pytest.approx((-share, share)))


def test_a_run_that_wins_everywhere_leaves_room_for_doubt():
    share = wilson(0, 50)[1]
    found = compare_paired([[1.0]] * 50, [[0.0]] * 50)
    assert found.difference == (1.0, pytest.approx((1 - 2 * share, 1.0)))


def test_other_numbers_of_instances_are_refused():
    with pytest.raises(ValueError, match="is shorter than argument 1"):
        compare_paired([[1.0]] * 3, [[1.0]] * 2)


@pytest.mark.parametrize(("a", "b"), [([], []), ([[]], [[1.0]]), ([[1.0]], [[]])])
def test_instances_without_values_are_refused(a, b):
    with pytest.raises(ValueError, match="at least one value"):
        compare_paired(a, b)
