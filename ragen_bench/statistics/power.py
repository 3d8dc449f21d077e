"""Statistical power: the smallest detectable difference, and the instances that it takes.

A difference is detected where its 95 % interval excludes 0. With 80 % power, the detectable
difference is its standard error times the sum of the normal distribution's 97.5 and 80 % points.

Source: Miller 2024, Adding error bars to evals (arXiv 2411.00640), section 5, on the power of
evaluations whose questions are sampled several times.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from statistics import NormalDist
from typing import NamedTuple

from ragen_bench.statistics.estimates import mean
from ragen_bench.statistics.intervals import Interval
from ragen_envs.core.sums import sum_in_order

POWER = 0.8
"""Probability of detecting a difference of the stated size."""
_WIDTH = 2 * NormalDist().inv_cdf(0.975)
"""Standard errors in the width of a 95 % interval."""
_DETECTABLE = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(POWER)
"""Standard errors in a difference that is detected with that power."""


class Spread(NamedTuple):
    """Variance between the instances' expected values, and mean variance of episodes about them."""

    between: float
    within: float

    def error(self, instances: int, samples: int) -> float:
        """Return the standard error of the mean over `instances` with `samples` episodes each."""
        return sqrt((self.between + self.within / samples) / instances)


class Differences(NamedTuple):
    """Variance components of the difference between two models.

    `unpaired` is for runs on different instances, `paired` for runs on the same ones.
    """

    unpaired: Spread
    paired: Spread


def double_spread(spread: Spread, correlation: float) -> Differences:
    """Return the components for two models of equal spread and correlated instances."""
    between, within = 2 * spread.between, 2 * spread.within
    return Differences(Spread(between, within), Spread(between * (1 - correlation), within))


def assume_spread(success: float, fraction: float) -> Spread:
    """Return the spread of a success rate, with a fraction of the variance between instances."""
    variance = success * (1 - success)
    return Spread(variance * fraction, variance * (1 - fraction))


def measure_spread(instances: Sequence[Sequence[float]]) -> Spread:
    """Estimate a model's spread from the values by instance, for at least two instances.

    The variance within instances is that of their samples. With one sample per instance it is
    unknown. All variance then counts as between instances, so that no gain from samples is claimed.

    Raises:
        ValueError: if there are fewer than two instances, or one without a value.
    """
    if len(instances) < 2 or not all(instances):
        raise ValueError("two instances are needed, each with a value")
    squares = [
        (value - center) ** 2
        for samples in instances
        for center in [mean(samples)]
        for value in samples
    ]
    degrees = sum(len(samples) - 1 for samples in instances)
    within = sum_in_order(squares) / degrees if degrees else 0.0
    means = _variance([mean(samples) for samples in instances])
    return Spread(max(means - within * _mean_inverse_count(instances), 0.0), within)


def measure_differences(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> Differences:
    """Estimate the components for two models' values by instance, in the same order of instances.

    Raises the errors of `measure_spread`, also if the numbers of instances differ.
    """
    spread_a, spread_b = measure_spread(a), measure_spread(b)
    differences = [mean(x) - mean(y) for x, y in zip(a, b, strict=True)]
    noise = spread_a.within * _mean_inverse_count(a) + spread_b.within * _mean_inverse_count(b)
    within = spread_a.within + spread_b.within
    between = max(_variance(differences) - noise, 0.0)
    return Differences(Spread(spread_a.between + spread_b.between, within), Spread(between, within))


def detectable_difference(
    spreads: Sequence[Spread], instances: Sequence[int], samples: int
) -> float:
    """Return the difference of a mean over environments that is detected with 80 % power."""
    errors = [
        spread.error(count, samples) for spread, count in zip(spreads, instances, strict=True)
    ]
    return _DETECTABLE * sqrt(sum_in_order(error**2 for error in errors)) / len(errors)


def instances_needed(difference: float, spreads: Sequence[Spread], samples: int) -> int:
    """Return the instances per environment that detect a difference, above 0, with 80 % power."""
    with_one = detectable_difference(spreads, [1] * len(spreads), samples)
    return max(ceil((with_one / difference) ** 2), 2)


def detectable_from(interval: Interval) -> float | None:
    """Return the difference that a comparison detects with 80 % power, by its 95 % interval.

    Returns:
        The distance from 0; None for an interval of width 0, which shows no spread.
    """
    low, high = interval
    return _DETECTABLE * (high - low) / _WIDTH if high > low else None


def detectable_between(interval: Interval) -> float | None:
    """Return the detectable distance to another value of the same spread on other instances.

    Args:
        interval: 95 % interval of one value.

    Returns:
        The distance; None for an interval of width 0.
    """
    distance = detectable_from(interval)
    return None if distance is None else sqrt(2) * distance


def _mean_inverse_count(instances: Sequence[Sequence[float]]) -> float:
    return mean([1 / len(samples) for samples in instances])


def _variance(values: Sequence[float]) -> float:
    center = mean(values)
    return sum_in_order((value - center) ** 2 for value in values) / (len(values) - 1)
