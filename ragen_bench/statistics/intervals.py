"""95 % intervals of means."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

Interval = tuple[float, float]
_Z = 1.959963984540054
"""The 97.5 % point of the standard normal distribution."""
_RESAMPLES = 2000
_ROUNDING = 1e-9
"""Means that are closer than this are equal."""


def wilson(successes: int, trials: int) -> Interval:
    """Return the Wilson score interval of a proportion, for independent trials.

    Source: Wilson 1927, Probable inference, the law of succession, and statistical inference.

    Raises:
        ValueError: if there is no trial, or more successes than trials.
    """
    if not 0 <= successes <= trials or trials == 0:
        raise ValueError(f"no proportion: {successes} of {trials}")
    p = successes / trials
    scale = 1 + _Z**2 / trials
    centre = (p + _Z**2 / (2 * trials)) / scale
    half = _Z / scale * sqrt(p * (1 - p) / trials + _Z**2 / (4 * trials**2))
    # Exactly 0 and 1 at the ends, where rounding would leave 1e-17.
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == trials else centre + half
    return low, high


def clustered_bootstrap(clusters: Sequence[Sequence[float]], seed: int = 0) -> Interval:
    """Return the percentile bootstrap interval of the mean, resampling whole clusters.

    Source: Miller 2024, Adding error bars to evals (arXiv 2411.00640), on questions that are
    sampled several times; here a cluster is the samples of one instance.

    Args:
        clusters: the values of each instance.
        seed: of a generator of its own, so that the interval is reproducible.

    Raises:
        ValueError: if there is no cluster, or an empty one.
    """
    if not clusters or not all(clusters):
        raise ValueError("every cluster needs at least one value")
    sums = np.array([sum(cluster) for cluster in clusters], dtype=np.float64)
    sizes = np.array([len(cluster) for cluster in clusters], dtype=np.float64)
    generator = np.random.Generator(np.random.PCG64(seed))
    picks = generator.integers(len(clusters), size=(_RESAMPLES, len(clusters)))
    means = sums[picks].sum(axis=1) / sizes[picks].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def alike_interval(value: float, instances: int, lowest: float, highest: float) -> Interval:
    """Return an interval of the mean where every instance gave the same value.

    Resampling such instances finds no spread, and a width of 0 would claim certainty. Wilson's
    interval for 0 of n bounds the share of instances that could have come out otherwise; at worst
    all of them at an end of the scale. For 0/1 values this is Wilson's interval of 0 or n of n.

    Args:
        value: what every instance gave.
        instances: how many there were.
        lowest: the least that an instance can give.
        highest: the most that an instance can give.

    Raises:
        ValueError: if there is no instance, or the value is off the scale.
    """
    if not lowest <= value <= highest:
        raise ValueError(f"{value} is not between {lowest} and {highest}")
    share = wilson(0, instances)[1]
    return value - share * (value - lowest), value + share * (highest - value)


def resampled_interval(
    clusters: Sequence[Sequence[float]], lowest: float, highest: float
) -> Interval:
    """Return `clustered_bootstrap`, or `alike_interval` where the means of all clusters are equal.

    Args:
        clusters: the values of each instance.
        lowest: the least that a value can be.
        highest: the most that a value can be.

    Raises:
        ValueError: if there is no cluster, an empty one, or a value off the scale.
    """
    _check(clusters, lowest, highest)
    means = [sum(cluster) / len(cluster) for cluster in clusters]
    if max(means) - min(means) < _ROUNDING:
        return alike_interval(means[0], len(clusters), lowest, highest)
    return clustered_bootstrap(clusters)


def mean_interval(clusters: Sequence[Sequence[float]]) -> Interval:
    """Return the 95 % interval of the mean of values between 0 and 1.

    Wilson's for one 0/1 value an instance, else `resampled_interval`.

    Args:
        clusters: the values of each instance: successes or scores.

    Raises:
        ValueError: if there is no cluster, an empty one, or a value outside [0, 1].
    """
    _check(clusters, 0.0, 1.0)
    if all(len(cluster) == 1 and cluster[0] in (0, 1) for cluster in clusters):
        return wilson(sum(cluster[0] == 1 for cluster in clusters), len(clusters))
    return resampled_interval(clusters, 0.0, 1.0)


def _check(clusters: Sequence[Sequence[float]], lowest: float, highest: float) -> None:
    if not clusters or not all(clusters):
        raise ValueError("every cluster needs at least one value")
    for value in (value for cluster in clusters for value in cluster):
        if not lowest <= value <= highest:
            raise ValueError(f"{value} is not between {lowest} and {highest}")
