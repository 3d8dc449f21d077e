"""Means over environments against a stratified bootstrap and against simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.statistics import Estimate, mean_estimate, mean_interval, mean_of, normalise

RATE = st.floats(0, 1)
ESTIMATES = st.tuples(RATE, RATE, RATE).map(sorted).map(lambda t: Estimate(t[1], (t[0], t[2])))


def drawn(generator, rates, spread, samples):
    """Return successes of an environment whose instances' rates spread around a rate."""
    rates = np.clip(rates + generator.uniform(-spread, spread, len(rates)), 0, 1)
    return (generator.random((samples, len(rates))) < rates).T.astype(float).tolist()


def stratified_bootstrap(environments, scales, seed):
    """Resample instances within each environment; an independent way to the same interval."""
    generator = np.random.default_rng(seed)
    total = np.zeros(4000)
    for clusters, (floor, ceiling) in zip(environments, scales, strict=True):
        means = np.array([np.mean(cluster) for cluster in clusters])
        picked = means[generator.integers(len(means), size=(4000, len(means)))].mean(axis=1)
        total += (picked - floor) / (ceiling - floor)
    return np.quantile(total / len(environments), [0.025, 0.975])


@pytest.mark.parametrize("samples", [1, 4])
def test_a_suites_interval_is_that_of_the_stratified_bootstrap(samples):
    generator = np.random.default_rng(11)
    scales = [(0.5, 1.0), (0.03, 1.0), (0.15, 0.4)]
    environments = [drawn(generator, np.full(400, rate), 0.2, samples) for rate in (0.7, 0.4, 0.25)]
    pairs = zip(environments, scales, strict=True)
    found = mean_of([mean_estimate(clusters).normalise(*scale) for clusters, scale in pairs])
    low, high = stratified_bootstrap(environments, scales, seed=5)
    assert found.interval == pytest.approx((low, high), abs=0.08 * (high - low))


def test_a_suite_that_is_hardly_solved_is_covered():
    # Here a bootstrap of 0/1 values covers 76 %: it sees no spread in what was never solved.
    generator = np.random.default_rng(2)
    rates, sizes = np.array([0.05, 0.03, 0.03]), np.array([32, 16, 16])
    covered = 0
    for _ in range(500):
        solved = generator.binomial(sizes, rates)
        clusters = [[[1.0]] * s + [[0.0]] * (n - s) for s, n in zip(solved, sizes, strict=True)]
        low, high = mean_of([mean_estimate(each) for each in clusters]).interval
        covered += low <= rates.mean() <= high
    assert 450 <= covered <= 500


def test_a_suite_of_several_samples_is_covered():
    generator = np.random.default_rng(8)
    covered = 0
    for _ in range(100):
        clusters = [drawn(generator, np.full(40, rate), 0.3, 4) for rate in (0.3, 0.6)]
        low, high = mean_of([mean_estimate(each) for each in clusters]).interval
        covered += low <= 0.45 <= high
    # 95 of 100, with a standard deviation of 2.2.
    assert 88 <= covered <= 100


@given(ESTIMATES)
def test_the_mean_of_one_environment_is_its_own(estimate):
    found = mean_of([estimate])
    assert found.value == estimate.value
    assert found.interval == pytest.approx(estimate.interval, abs=1e-12)


@given(st.lists(ESTIMATES, min_size=1, max_size=6))
def test_the_mean_lies_in_its_interval(estimates):
    found = mean_of(estimates)
    assert found.value == pytest.approx(np.mean([each.value for each in estimates]))
    assert found.interval[0] <= found.value <= found.interval[1]
    assert found.interval[0] >= np.mean([each.interval[0] for each in estimates]) - 1e-12
    assert found.interval[1] <= np.mean([each.interval[1] for each in estimates]) + 1e-12


def test_equal_environments_are_known_better_by_the_root_of_their_number():
    found = mean_of([Estimate(0.5, (0.4, 0.7))] * 4)
    assert found.value == 0.5
    assert found.interval == pytest.approx((0.45, 0.6))


def test_no_environment_has_no_mean():
    with pytest.raises(ValueError, match="no estimate"):
        mean_of([])


@given(ESTIMATES, RATE, RATE)
def test_normalised_estimates(estimate, floor, ceiling):
    if ceiling - floor < 1e-3:
        return
    found = estimate.normalise(floor, ceiling)
    for value, raw in zip(
        [found.value, *found.interval], [estimate.value, *estimate.interval], strict=True
    ):
        assert value == pytest.approx(normalise(raw, floor, ceiling), abs=1e-9)


def test_no_scale_no_normalised_estimate():
    assert Estimate(0.5, (0.4, 0.6)).normalise(0.5, 0.5) is None


def test_scaling_by_a_negative_number_swaps_the_bounds():
    assert Estimate(2.0, (1.0, 4.0)).rescale(-2.0, 1.0) == (-3.0, (-7.0, -1.0))


def test_the_mean_is_of_all_values():
    clusters = [[1.0], [0.0, 0.5, 0.5]]
    assert mean_estimate(clusters) == (0.5, mean_interval(clusters))
