"""The exact test of means, and Holm's correction."""

from math import comb
from random import Random

import pytest

from ragen_bench.statistics import count_higher_and_lower, holm, mcnemar_p


@pytest.mark.parametrize(("higher", "lower"), [(0, 0), (0, 5), (5, 0), (3, 4), (17, 9)])
def test_the_chance_is_the_binomial_tail(higher, lower):
    pairs = higher + lower
    tail = sum(comb(pairs, k) for k in range(higher, pairs + 1)) / 2**pairs
    assert mcnemar_p(higher, lower) == tail


def test_pairs_of_0_and_1_are_counted_as_they_are():
    assert count_higher_and_lower([1, 1, 0, 0, 1], [0, 1, 1, 0, 0]) == (2, 1)


def test_graded_scores_differ_by_their_means():
    higher, lower = count_higher_and_lower([0.6] * 20_000, [0.4] * 20_000)
    assert lower == 0
    assert abs(higher / 20_000 - 0.2) < 0.01


def test_equal_players_are_told_apart_as_seldom_as_the_level_says():
    """Scores of three values, mean 0.4 on either side; 400 tests at 5 %."""
    random = Random(0)
    found = 0
    for seed in range(400):
        a = [random.choice((0.0, 0.2, 1.0)) for _ in range(200)]
        b = [random.choice((0.4, 0.0, 0.8)) for _ in range(200)]
        found += mcnemar_p(*count_higher_and_lower(a, b, seed)) < 0.05
    assert found <= 33  # of 20 expected, with odds below 1 %


def test_holms_own_example_in_any_order():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))
    assert holm([0.6, 0.7]) == (1.0, 1.0)
    assert holm([]) == ()


@pytest.mark.parametrize(
    ("scores", "others", "says"),
    [([1.0], [], "1 scores do not pair with 0"), ([1.5], [0.0], "outside"), ([0], [-1], "outside")],
)
def test_what_cannot_be_compared_is_refused(scores, others, says):
    with pytest.raises(ValueError, match=says):
        count_higher_and_lower(scores, others)
