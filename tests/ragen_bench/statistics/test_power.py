"""What is said of power, against simulated models of which everything is known."""

from math import sqrt
from statistics import fmean

import numpy as np
import pytest

from ragen_bench.statistics import compare_paired, mean_estimate
from ragen_bench.statistics.power import (
    Spread,
    assume_spread,
    detectable_between,
    detectable_difference,
    detectable_from,
    double_spread,
    instances_needed,
    measure_differences,
    measure_spread,
)

HALF, SHARE = sqrt(0.125), 0.5
"""Instances are solved with a chance of 0.5 - HALF or 0.5 + HALF: half of the variance."""
RUNS = 400
"""Simulated comparisons; a share of 80 % of them has a standard error of 2 points."""


def models(rng, instances, samples, difference, correlation):
    """Return two models' successes on the same instances, of which they know alike so many."""
    hard = rng.integers(2, size=(2, instances))
    hard[1] = np.where(rng.random(instances) < correlation, hard[0], hard[1])
    chances = 0.5 + HALF * (2 * hard - 1) + np.array([[difference / 2], [-difference / 2]])
    drawn = rng.random((2, instances, samples)) < chances[:, :, None]
    return [side.astype(float).tolist() for side in drawn]


@pytest.mark.slow
@pytest.mark.parametrize(("difference", "samples", "correlation"), [(0.1, 1, 0.5), (0.12, 4, 0.0)])
def test_paired_runs_of_so_many_instances_find_the_difference(difference, samples, correlation):
    spread = double_spread(assume_spread(0.5, SHARE), correlation).paired
    instances = instances_needed(difference, [spread], samples)
    rng = np.random.default_rng(1)
    found = [
        compare_paired(
            *models(rng, instances, samples, difference, correlation)
        ).difference.interval
        for _ in range(RUNS)
    ]
    assert fmean(low > 0 for low, _ in found) == pytest.approx(0.8, abs=0.06)
    assert fmean(high < 0 for _, high in found) == pytest.approx(0.0, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("samples", [1, 4])
def test_unpaired_runs_of_so_many_instances_find_it(samples):
    spread = double_spread(assume_spread(0.5, SHARE), 0.5).unpaired
    instances = instances_needed(0.12, [spread], samples)
    rng, found = np.random.default_rng(2), 0
    for _ in range(RUNS):
        a, _ = models(rng, instances, samples, 0.12, 0.0)
        _, b = models(rng, instances, samples, 0.12, 0.0)
        (a_low, a_high), (b_low, b_high) = (mean_estimate(side).interval for side in (a, b))
        apart = fmean(map(fmean, a)) - fmean(map(fmean, b))
        found += apart > sqrt((a_high - a_low) ** 2 + (b_high - b_low) ** 2) / 2
    assert found / RUNS == pytest.approx(0.8, abs=0.06)


def test_the_width_of_an_interval_says_what_is_found():
    rng = np.random.default_rng(3)
    spreads = double_spread(assume_spread(0.5, SHARE), 0.5)
    a, b = models(rng, 4000, 2, 0.0, 0.5)
    by_width = detectable_from(compare_paired(a, b).difference.interval)
    assert by_width == pytest.approx(detectable_difference([spreads.paired], [4000], 2), rel=0.06)
    beside = detectable_between(mean_estimate(a).interval)
    assert beside == pytest.approx(detectable_difference([spreads.unpaired], [4000], 2), rel=0.06)
    assert detectable_from((0.25, 0.25)) is None
    assert detectable_between((0.25, 0.25)) is None


def test_the_spread_of_runs_is_measured():
    rng = np.random.default_rng(4)
    a, b = models(rng, 20_000, 3, 0.0, 0.4)
    of_a = measure_spread(a)
    assert of_a == pytest.approx((0.125, 0.125), abs=0.004)
    wanted = double_spread(of_a, 0.4)
    found = measure_differences(a, b)
    assert found.unpaired == pytest.approx(wanted.unpaired, abs=0.008)
    assert found.paired == pytest.approx(wanted.paired, abs=0.008)


def test_one_sample_an_instance_says_nothing_of_what_more_would_help():
    once = [[0.0], [1.0], [1.0], [0.0]]
    assert measure_spread(once) == Spread(pytest.approx(1 / 3), 0.0)
    with pytest.raises(ValueError, match="two instances are needed"):
        measure_spread([[1.0]])
    with pytest.raises(ValueError, match="each with a value"):
        measure_spread([[1.0], []])


def test_a_mean_over_environments_finds_less_than_each():
    spread = Spread(0.3, 0.2)
    alone = detectable_difference([spread], [100], 2)
    assert alone == pytest.approx((1.959964 + 0.841621) * sqrt((0.3 + 0.1) / 100), rel=1e-6)
    assert detectable_difference([spread] * 4, [100] * 4, 2) == pytest.approx(alone / 2)
    needed = instances_needed(alone, [spread], 2)
    assert needed in (100, 101)
    assert instances_needed(0.9, [Spread(0.0, 0.0)], 1) == 2
