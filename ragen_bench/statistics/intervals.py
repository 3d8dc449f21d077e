"""Confidence intervals of means, at 95 % unless another level is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import cos, lgamma, pi, sin, sqrt, tan
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragen_envs.core.sums import sum_in_order

Interval = tuple[float, float]
"""Lower and upper bound."""
LEVEL = 0.95
"""Default confidence level."""
_Z = 1.959963984540054
"""The 97.5 % point of the standard normal distribution, to the digits of published results."""
_RESAMPLES = 2000
_ROUNDING = 1e-9
"""Means closer than this are equal."""
_MIN_DIFFERING = 10
"""With fewer instances that differ from 0 or 1, bootstraps cover too little, see
docs/reference/statistics.md."""


def wilson(successes: int, trials: int, level: float = LEVEL) -> Interval:
    """Return the Wilson score interval of a proportion, for independent trials.

    Its coverage equals the level on average over proportions, not for each one.
    Source: Wilson 1927, Probable inference, the law of succession, and statistical inference.

    Args:
        successes: Number of successes.
        trials: Number of trials, at least 1.
        level: Confidence level, in (0, 1).

    Raises:
        ValueError: if there is no trial, more successes than trials, or a level outside (0, 1).
    """
    _check_proportion(successes, trials)
    low, high = _score_interval(successes / trials, trials, level)
    # Exactly 0 and 1 at the ends, where rounding would leave 1e-17.
    return 0.0 if successes == 0 else low, 1.0 if successes == trials else high


def clopper_pearson(successes: int, trials: int, level: float = LEVEL) -> Interval:
    """Return the exact interval of a proportion, for independent trials.

    Its coverage is at least the level for every proportion, so it is wider.
    Source: Clopper and Pearson 1934, The use of confidence or fiducial limits illustrated in the
    case of the binomial (Biometrika 26). Arguments and errors are those of `wilson`.
    """
    _check_proportion(successes, trials)
    tail = _tail(level)
    low, high = 0.0, 1.0
    if successes:
        low = _bisect(partial(_upper_tail, successes, trials), tail)
    if successes < trials:
        high = _bisect(partial(_upper_tail, successes + 1, trials), 1 - tail)
    return low, high


def clustered_wilson(clusters: Sequence[Sequence[float]], level: float = LEVEL) -> Interval:
    """Return Wilson's interval for the effective number of independent trials.

    That number is p * (1 - p) divided by the variance of the mean between clusters. The values, by
    instance, are between 0 and 1; the clusters' means must not all be equal.

    Source: Franco, Little, Louis and Slud 2019, Comparative study of confidence intervals for
    proportions in complex sample surveys (Journal of Survey Statistics and Methodology 7), which
    recommends Wilson's with the effective sample size.
    """
    sums, sizes = _sums_and_sizes(clusters)
    p = float(sums.sum() / sizes.sum())
    count = len(clusters)
    # The variance of a ratio, since clusters may differ in size.
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
        clusters: Values by instance.
        seed: Seed of the resampling.
        level: Confidence level, in (0, 1).

    Raises:
        ValueError: if no cluster is given, one is empty, or the level is outside (0, 1).
    """
    if not clusters or not all(clusters):
        raise ValueError("every cluster needs at least one value")
    sums, sizes = _sums_and_sizes(clusters)
    generator = np.random.Generator(np.random.PCG64(seed))
    picks = generator.integers(len(clusters), size=(_RESAMPLES, len(clusters)))
    means = sums[picks].sum(axis=1) / sizes[picks].sum(axis=1)
    low, high = np.quantile(means, [_tail(level), 1 - _tail(level)])
    return float(low), float(high)


def equal_values_interval(
    value: float, instances: int, lowest: float, highest: float, level: float = LEVEL
) -> Interval:
    """Return an interval of the mean where every instance has the same value.

    Resampling shows no spread, and a width of 0 would claim certainty. Wilson's interval for 0 of n
    bounds the fraction of instances that could differ, at worst by the whole scale. For 0/1 values,
    the result is Wilson's interval of 0 of n or n of n.

    Args:
        value: Value of every instance.
        instances: Number of instances.
        lowest: Minimum possible value.
        highest: Maximum possible value.
        level: Confidence level, in (0, 1).

    Raises:
        ValueError: if there is no instance, or the value or the level is out of range.
    """
    if not lowest <= value <= highest:
        raise ValueError(f"{value} is not between {lowest} and {highest}")
    fraction = wilson(0, instances, level)[1]
    return value - fraction * (value - lowest), value + fraction * (highest - value)


def resampled_interval(
    clusters: Sequence[Sequence[float]], lowest: float, highest: float, level: float = LEVEL
) -> Interval:
    """Return `clustered_bootstrap`, or `equal_values_interval` if all cluster means are equal.

    Raises:
        ValueError: if no cluster is given, one is empty, or a value or the level is out of range.
    """
    _check(clusters, lowest, highest)
    means = [sum_in_order(cluster) / len(cluster) for cluster in clusters]
    if max(means) - min(means) < _ROUNDING:
        return equal_values_interval(means[0], len(clusters), lowest, highest, level)
    return clustered_bootstrap(clusters, level=level)


def people_interval(
    by_person: Sequence[Sequence[float]], bounds: Interval | None = (0.0, 1.0), level: float = LEVEL
) -> Interval:
    """Return the interval of the mean of all values, for other people like these.

    The standard error is that of a mean over clusters, and the critical value is Student's with one
    degree of freedom less than people, so that few people give a wide interval. People of equal
    means have `equal_values_interval`. Source: Cameron and Miller 2015, A practitioner's guide to
    cluster-robust inference (Journal of Human Resources 50), section VI.

    Args:
        by_person: Values of each person, at least two people with one value each.
        bounds: Minimum and maximum possible value; None for values without bounds.
        level: Confidence level, in (0, 1).
    """
    people = len(by_person)
    count = sum(map(len, by_person))
    value = sum_in_order(map(sum_in_order, by_person)) / count
    means = [sum_in_order(values) / len(values) for values in by_person]
    if max(means) - min(means) < _ROUNDING:
        return equal_values_interval(value, people, *(bounds or (value, value)), level)
    residuals = (sum_in_order(values) - value * len(values) for values in by_person)
    spread = sum_in_order(residual**2 for residual in residuals)
    half = student_quantile(people - 1, level) * sqrt(spread * people / (people - 1)) / count
    lowest, highest = bounds or (value - half, value + half)
    return max(lowest, value - half), min(highest, value + half)


def student_quantile(degrees: int, level: float) -> float:
    """Return the number that Student's t exceeds in absolute value with probability 1 - level.

    Source: Abramowitz and Stegun 1964, Handbook of mathematical functions, 26.7.3 and 26.7.4, for a
    whole number of degrees of freedom.
    """
    low, high = 0.0, pi / 2
    for _ in range(60):  # bisect the angle whose tangent is t / sqrt(degrees)
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < level else (low, middle)
    return tan(low) * sqrt(degrees)


def _within(angle: float, degrees: int) -> float:
    """Return the probability that Student's t lies within an angle on either side of 0."""
    is_odd = degrees % 2
    term, total = (cos(angle) if is_odd else 1.0), 0.0
    for number in range(1 + is_odd, degrees, 2):
        total += term
        term *= cos(angle) ** 2 * number / (number + 1)
    if is_odd:
        return 2 / pi * (angle + sin(angle) * total)
    return sin(angle) * total


def widen(interval: Interval, by_person: Sequence[Sequence[float]], **options: Any) -> Interval:
    """Return the smallest interval that contains another and, of several people, theirs too."""
    if len(by_person) < 2:
        return interval
    low, high = people_interval(by_person, **options)
    return min(interval[0], low), max(interval[1], high)


def mean_interval(
    clusters: Sequence[Sequence[float]],
    level: float = LEVEL,
    by_person: Sequence[Sequence[float]] = (),
) -> Interval:
    """Return the interval of the mean of values between 0 and 1.

    Wilson's interval for one 0/1 value per instance, else `resampled_interval`. Where few instances
    differ from 0, or few from 1, resampling understates their number. The interval is then widened
    to include `clustered_wilson`, and with several people to include `people_interval`.

    Args:
        clusters: Successes or scores by instance.
        level: Confidence level, in (0, 1).
        by_person: The same values by person, where people played.

    Raises:
        ValueError: if no cluster is given, one is empty, or a value or level out of range.
    """
    return widen(_interval_over_instances(clusters, level), by_person, level=level)


def _interval_over_instances(clusters: Sequence[Sequence[float]], level: float) -> Interval:
    _check(clusters, 0.0, 1.0)
    if all(len(cluster) == 1 and cluster[0] in (0, 1) for cluster in clusters):
        return wilson(sum(cluster[0] == 1 for cluster in clusters), len(clusters), level)
    low, high = resampled_interval(clusters, 0.0, 1.0, level)
    means = [sum_in_order(cluster) / len(cluster) for cluster in clusters]
    differing = min(sum(mean != end for mean in means) for end in (0.0, 1.0))
    if differing >= _MIN_DIFFERING or max(means) - min(means) < _ROUNDING:
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


def _upper_tail(successes: int, trials: int, p: float) -> float:
    """Return the probability of at least `successes` successes, for 0 < p < 1."""
    numbers = np.arange(successes, trials + 1)
    ways = [lgamma(trials + 1) - lgamma(k + 1) - lgamma(trials - k + 1) for k in numbers.tolist()]
    logs = np.array(ways) + numbers * np.log(p) + (trials - numbers) * np.log1p(-p)
    return float(np.exp(logs).sum())


def _bisect(rising: Callable[[float], float], value: float) -> float:
    """Return the argument at which a function increasing on (0, 1) has a value."""
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
