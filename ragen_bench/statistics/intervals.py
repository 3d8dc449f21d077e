"""Intervals of means, of 95 % unless another level is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import lgamma, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from ragen_envs.core.sums import sum_in_order

Interval = tuple[float, float]
"""The lower and the upper end."""
LEVEL = 0.95
"""The level of intervals."""
_Z = 1.959963984540054
"""The 97.5 % point of the standard normal distribution, as recorded figures have it."""
_RESAMPLES = 2000
_ROUNDING = 1e-9
"""Means that are closer than this are equal."""
_FEW = 10
"""Instances; bootstraps of fewer that stand apart cover too little, see docs/statistics.md."""


def wilson(successes: int, trials: int, level: float = LEVEL) -> Interval:
    """Return the Wilson score interval of a proportion, for independent trials.

    It covers the true proportion as often as its level says on average, not for each.
    Source: Wilson 1927, Probable inference, the law of succession, and statistical inference.

    Args:
        successes: of the trials.
        trials: one at least.
        level: in (0, 1).

    Raises:
        ValueError: if there is no trial, more successes than trials, or no such level.
    """
    _check_proportion(successes, trials)
    low, high = _score_interval(successes / trials, trials, level)
    # Exactly 0 and 1 at the ends, where rounding would leave 1e-17.
    return 0.0 if successes == 0 else low, 1.0 if successes == trials else high


def clopper_pearson(successes: int, trials: int, level: float = LEVEL) -> Interval:
    """Return the exact interval of a proportion, for independent trials.

    It covers every true proportion at least as often as its level says, and is wider for that.
    Source: Clopper and Pearson 1934, The use of confidence or fiducial limits illustrated in the
    case of the binomial (Biometrika 26). Arguments and errors are those of `wilson`.
    """
    _check_proportion(successes, trials)
    tail = _tail(level)
    low, high = 0.0, 1.0
    if successes:
        low = _bisected(partial(_at_least, successes, trials), tail)
    if successes < trials:
        high = _bisected(partial(_at_least, successes + 1, trials), 1 - tail)
    return low, high


def clustered_wilson(clusters: Sequence[Sequence[float]], level: float = LEVEL) -> Interval:
    """Return Wilson's interval for as many independent trials as the clusters are worth.

    That many have the variance that the mean shows between clusters: p * (1 - p) over it.

    Source: Franco, Little, Louis and Slud 2019, Comparative study of confidence intervals for
    proportions in complex sample surveys (Journal of Survey Statistics and Methodology 7), which
    recommends Wilson's with the effective sample size.

    Args:
        clusters: the values of each instance, between 0 and 1; not all means may be equal.
        level: in (0, 1).
    """
    sums, sizes = _sums_and_sizes(clusters)
    p = float(sums.sum() / sizes.sum())
    count = len(clusters)
    # Of a ratio, as clusters may differ in size.
    spread = float(((sums - p * sizes) ** 2).sum())
    variance = spread * count / (count - 1) / float(sizes.sum()) ** 2
    return _score_interval(p, p * (1 - p) / variance, level)


def clustered_bootstrap(
    clusters: Sequence[Sequence[float]], seed: int = 0, level: float = LEVEL
) -> Interval:
    """Return the percentile bootstrap interval of the mean, resampling whole clusters.

    Source: Miller 2024, Adding error bars to evals (arXiv 2411.00640), on questions that are
    sampled several times; here a cluster is the samples of one instance.

    Args:
        clusters: the values of each instance.
        seed: of a generator of its own, so that the interval is reproducible.
        level: in (0, 1).

    Raises:
        ValueError: if there is no cluster, an empty one, or no such level.
    """
    if not clusters or not all(clusters):
        raise ValueError("every cluster needs at least one value")
    sums, sizes = _sums_and_sizes(clusters)
    generator = np.random.Generator(np.random.PCG64(seed))
    picks = generator.integers(len(clusters), size=(_RESAMPLES, len(clusters)))
    means = sums[picks].sum(axis=1) / sizes[picks].sum(axis=1)
    low, high = np.quantile(means, [_tail(level), 1 - _tail(level)])
    return float(low), float(high)


def alike_interval(
    value: float, instances: int, lowest: float, highest: float, level: float = LEVEL
) -> Interval:
    """Return an interval of the mean where every instance gave the same value.

    Resampling such instances finds no spread, and a width of 0 would claim certainty. Wilson's
    interval for 0 of n bounds the share of instances that could have come out otherwise; at worst
    all of them at an end of the scale. For 0/1 values this is Wilson's interval of 0 or n of n.

    Args:
        value: what every instance gave.
        instances: how many there were.
        lowest: the least that an instance can give.
        highest: the most that an instance can give.
        level: in (0, 1).

    Raises:
        ValueError: if there is no instance, the value is off the scale, or there is no such level.
    """
    if not lowest <= value <= highest:
        raise ValueError(f"{value} is not between {lowest} and {highest}")
    share = wilson(0, instances, level)[1]
    return value - share * (value - lowest), value + share * (highest - value)


def resampled_interval(
    clusters: Sequence[Sequence[float]], lowest: float, highest: float, level: float = LEVEL
) -> Interval:
    """Return `clustered_bootstrap`, or `alike_interval` where the means of all clusters are equal.

    Args:
        clusters: the values of each instance.
        lowest: the least that a value can be.
        highest: the most that a value can be.
        level: in (0, 1).

    Raises:
        ValueError: if there is no cluster, an empty one, a value off the scale, or no such level.
    """
    _check(clusters, lowest, highest)
    means = [sum_in_order(cluster) / len(cluster) for cluster in clusters]
    if max(means) - min(means) < _ROUNDING:
        return alike_interval(means[0], len(clusters), lowest, highest, level)
    return clustered_bootstrap(clusters, level=level)


def mean_interval(clusters: Sequence[Sequence[float]], level: float = LEVEL) -> Interval:
    """Return the interval of the mean of values between 0 and 1.

    Wilson's for one 0/1 value an instance, else `resampled_interval`. Where only a few instances
    differ from 0, or only a few from 1, resampling misses how many there might have been: its
    interval is then widened to hold `clustered_wilson` too.

    Args:
        clusters: the values of each instance: successes or scores.
        level: in (0, 1).

    Raises:
        ValueError: if there is no cluster, an empty one, a value outside [0, 1], or no such level.
    """
    _check(clusters, 0.0, 1.0)
    if all(len(cluster) == 1 and cluster[0] in (0, 1) for cluster in clusters):
        return wilson(sum(cluster[0] == 1 for cluster in clusters), len(clusters), level)
    low, high = resampled_interval(clusters, 0.0, 1.0, level)
    means = [sum_in_order(cluster) / len(cluster) for cluster in clusters]
    apart = min(sum(mean != end for mean in means) for end in (0.0, 1.0))
    if apart >= _FEW or max(means) - min(means) < _ROUNDING:
        return low, high
    wider = clustered_wilson(clusters, level)
    return min(low, wider[0]), max(high, wider[1])


def _score_interval(p: float, trials: float, level: float) -> Interval:
    z = _Z if level == LEVEL else NormalDist().inv_cdf(1 - _tail(level))
    scale = 1 + z**2 / trials
    centre = (p + z**2 / (2 * trials)) / scale
    half = z / scale * sqrt(p * (1 - p) / trials + z**2 / (4 * trials**2))
    return centre - half, centre + half


def _tail(level: float) -> float:
    """Return what an interval leaves out on either side, without the noise of 1 - 0.95."""
    if not 0 < level < 1:
        raise ValueError(f"a level is between 0 and 1, got {level:g}")
    return round((1 - level) / 2, 12)


def _at_least(successes: int, trials: int, p: float) -> float:
    """Return the chance of so many successes or more, for 0 < p < 1."""
    numbers = np.arange(successes, trials + 1)
    ways = [lgamma(trials + 1) - lgamma(k + 1) - lgamma(trials - k + 1) for k in numbers.tolist()]
    logs = np.array(ways) + numbers * np.log(p) + (trials - numbers) * np.log1p(-p)
    return float(np.exp(logs).sum())


def _bisected(rising: Callable[[float], float], value: float) -> float:
    """Return where a function that rises on (0, 1) has a value."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if rising(middle) < value:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _check_proportion(successes: int, trials: int) -> None:
    if not 0 <= successes <= trials or trials == 0:
        raise ValueError(f"no proportion: {successes} of {trials}")


def _sums_and_sizes(
    clusters: Sequence[Sequence[float]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    sums = np.array([sum_in_order(cluster) for cluster in clusters], dtype=np.float64)
    return sums, np.array([len(cluster) for cluster in clusters], dtype=np.float64)


def _check(clusters: Sequence[Sequence[float]], lowest: float, highest: float) -> None:
    if not clusters or not all(clusters):
        raise ValueError("every cluster needs at least one value")
    for value in (value for cluster in clusters for value in cluster):
        if not lowest <= value <= highest:
            raise ValueError(f"{value} is not between {lowest} and {highest}")
