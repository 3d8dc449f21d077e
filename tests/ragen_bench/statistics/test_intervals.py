"""Intervals against published values and against simulation."""

import math
import random
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, norm

from ragen_bench.statistics import (
    Estimate,
    clopper_pearson,
    clustered_bootstrap,
    equal_values_interval,
    mean_interval,
    normalise,
    wilson,
)
from ragen_bench.statistics.intervals import clustered_wilson, resampled_interval


# Newcombe 1998, Two-sided confidence intervals for the single proportion, table I, method 3.
@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_newcombes_table(successes, trials, low, high):
    assert wilson(successes, trials) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_bounds_solve_the_score_equation(case):
    successes, trials = case
    p = successes / trials
    for bound in wilson(successes, trials):
        if 0 < bound < 1:
            z = (p - bound) / math.sqrt(bound * (1 - bound) / trials)
            assert abs(z) == pytest.approx(1.959963984540054, rel=1e-6)


def test_wilson_mirrors():
    low, high = wilson(3, 11)
    assert wilson(8, 11) == pytest.approx((1 - high, 1 - low))


@pytest.mark.parametrize(("successes", "trials"), [(0, 0), (3, 2), (-1, 5)])
def test_wilson_refuses_what_is_no_proportion(successes, trials):
    with pytest.raises(ValueError, match="no proportion"):
        wilson(successes, trials)


def test_bootstrap_covers_the_mean_of_clustered_values():
    source = random.Random(5)
    covered = 0
    for _ in range(200):
        rates = [source.random() for _ in range(40)]
        clusters = [[float(source.random() < rate) for _ in range(6)] for rate in rates]
        low, high = clustered_bootstrap(clusters)
        covered += low <= 0.5 <= high
    # 95 % of 200 is 190, with a standard deviation of 3.
    assert 180 <= covered <= 199


def test_bootstrap_is_wider_than_if_samples_were_independent():
    clusters = [[1.0] * 8] * 10 + [[0.0] * 8] * 10
    low, high = clustered_bootstrap(clusters)
    flat_low, flat_high = clustered_bootstrap([[v] for cluster in clusters for v in cluster])
    assert high - low > 2 * (flat_high - flat_low)


def test_bootstrap_of_equal_values_is_a_point():
    assert clustered_bootstrap([[0.25, 0.25], [0.25]]) == (0.25, 0.25)


@pytest.mark.parametrize("clusters", [[], [[1.0], []]])
def test_bootstrap_refuses_empty_clusters(clusters):
    with pytest.raises(ValueError, match="at least one value"):
        clustered_bootstrap(clusters)


def test_normalised_score():
    assert normalise(0.2, 0.2, 0.6) == 0.0
    assert normalise(0.6, 0.2, 0.6) == 1.0
    assert normalise(0.1, 0.2, 0.6) == pytest.approx(-0.25)
    for ceiling in (0.5, 0.4):  # a scale turned round would rank who does better below
        assert normalise(0.3, 0.5, ceiling) is None
        assert Estimate(0.3, (0.2, 0.4)).normalise(0.5, ceiling) is None


def test_mean_interval_of_one_outcome_an_instance_is_wilsons():
    assert mean_interval([[1.0], [0.0], [0.0], [1.0], [1.0]]) == wilson(3, 5)
    assert mean_interval([[0.0]] * 9) == wilson(0, 9)


def test_mean_interval_of_several_samples_or_of_scores_is_the_bootstraps():
    for clusters in ([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]], [[0.5], [0.0], [1.0]]):
        assert mean_interval(clusters * 10) == clustered_bootstrap(clusters * 10)


@given(st.integers(2, 100).flatmap(lambda n: st.tuples(st.integers(1, n - 1), st.just(n))))
def test_clustered_wilson_of_copies_counts_the_clusters(case):
    solved, clusters = case
    found = clustered_wilson([[1.0] * 3] * solved + [[0.0] * 3] * (clusters - solved))
    p = solved / clusters
    for bound in found:  # the score equation, of one trial less: the variance is a sample's
        z = (p - bound) / math.sqrt(bound * (1 - bound) / (clusters - 1))
        assert abs(z) == pytest.approx(1.959963984540054, rel=1e-6)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("solved", [1, 5, 9, 10])
def test_few_instances_that_stand_apart_widen_the_bootstraps(solved, turned):
    clusters = [[1.0, 0.0, 0.0]] * solved + [[0.0] * 3] * (60 - solved)
    if turned:
        clusters = [[1 - value for value in cluster] for cluster in clusters]
    low, high = mean_interval(clusters)
    plain, score = clustered_bootstrap(clusters), clustered_wilson(clusters)
    if solved == 10:
        assert (low, high) == plain
    else:
        assert (low, high) == (min(plain[0], score[0]), max(plain[1], score[1]))
        assert high - low > plain[1] - plain[0]


@pytest.mark.parametrize("rate", [0.03, 0.05])
def test_rare_successes_are_covered(rate):
    generator = np.random.default_rng(8)
    covered = plain = 0
    for _ in range(300):
        rates = generator.beta(2 * rate, 2 * (1 - rate), 32)
        clusters = (generator.random((32, 4)) < rates[:, None]).astype(float).tolist()
        low, high = mean_interval(clusters)
        covered += low - 1e-9 <= rate <= high + 1e-9
        low, high = resampled_interval(clusters, 0.0, 1.0)
        plain += low <= rate <= high
    # 95 % of 300 is 285, with a standard deviation of 3.8; resampling alone falls short of it.
    assert covered >= 277
    assert plain <= 273


def test_one_instance_with_several_samples():
    for solved in range(4):
        low, high = mean_interval([[1.0] * solved + [0.0] * (3 - solved)])
        assert 0 <= low <= solved / 3 <= high <= 1
        assert high - low == pytest.approx(wilson(0, 1)[1])


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_samples_that_all_ended_alike_count_as_one(value):
    clusters = [[value] * 4] * 12
    assert mean_interval(clusters) == pytest.approx(wilson(int(12 * value), 12))


def test_instances_of_equal_means_leave_room_for_doubt():
    share = wilson(0, 12)[1]
    expected = pytest.approx((0.5 - 0.5 * share, 0.5 + 0.5 * share))
    assert mean_interval([[0.0, 1.0], [0.5]] * 6) == expected


@given(st.integers(1, 300), st.floats(0, 1))
def test_alike_values_are_bounded_by_wilsons_share(instances, value):
    low, high = equal_values_interval(value, instances, 0.0, 1.0)
    share = wilson(0, instances)[1]
    assert 0 <= low <= value <= high <= 1
    assert high - low == pytest.approx(share)
    # The share of instances could as well have been at either end.
    assert low == pytest.approx((1 - share) * value)
    assert high == pytest.approx((1 - share) * value + share)


def test_scores_between_0_and_1_are_covered():
    source = random.Random(12)
    covered = 0
    for _ in range(200):
        low, high = mean_interval([[source.choice((0.0, 0.3, 0.6, 1.0))] for _ in range(50)])
        covered += low <= 0.475 <= high
    # 95 % of 200 is 190, with a standard deviation of 3.
    assert 178 <= covered <= 199


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_values_off_the_scale_are_refused(value):
    for clusters in ([[value]] * 3, [[0.5], [value]]):
        with pytest.raises(ValueError, match="is not between"):
            mean_interval(clusters)
    with pytest.raises(ValueError, match="is not between"):
        equal_values_interval(value, 3, 0.0, 1.0)


@pytest.mark.parametrize("clusters", [[], [[1.0], []]])
def test_mean_interval_refuses_empty_clusters(clusters):
    with pytest.raises(ValueError, match="at least one value"):
        mean_interval(clusters)


@given(st.integers(1, 400), st.data(), st.sampled_from([0.8, 0.95, 0.99]))
def test_clopper_and_pearson_are_quantiles_of_the_beta_distribution(trials, data, level):
    successes = data.draw(st.integers(0, trials))
    low, high = clopper_pearson(successes, trials, level)
    tail = (1 - level) / 2
    wanted = (
        beta.ppf(tail, successes, trials - successes + 1) if successes else 0.0,
        beta.ppf(1 - tail, successes + 1, trials - successes) if successes < trials else 1.0,
    )
    assert (low, high) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_levels_are_those_of_the_normal_distribution(level):
    z = norm.ppf((1 + level) / 2)
    p, n = 0.3, 50
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * (p * (1 - p) / n + z**2 / (4 * n**2)) ** 0.5
    assert wilson(15, 50, level) == pytest.approx((centre - half, centre + half), abs=1e-12)
    generator = np.random.default_rng(5)
    clusters = generator.normal(0.5, 0.05, size=(900, 1)).tolist()
    low, high = mean_interval(clusters, level)
    assert high - low == pytest.approx(2 * z * 0.05 / 30, rel=0.1)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_other_levels_are_refused(level):
    for interval in (partial(wilson, 1, 2), partial(clopper_pearson, 1, 2)):
        with pytest.raises(ValueError, match="a level is between 0 and 1"):
            interval(level)
