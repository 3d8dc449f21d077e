"""How small a difference can be told from none, and how many instances that takes.

A difference is found where its 95 % interval leaves out 0. Its standard error times the sum of the
normal distribution's 97.5 and 80 % points is the difference that is found four times in five.

Source: Miller 2024, Adding error bars to evals (arXiv 2411.00640), section 5, on the power of
evaluations whose questions are sampled several times.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from statistics import NormalDist
from typing import NamedTuple

from ragen_bench.statistics.intervals import Interval
from ragen_envs.core.sums import sum_in_order

POWER = 0.8
"""The chance with which a difference of the stated size is found."""
_WIDTH = 2 * NormalDist().inv_cdf(0.975)
"""Standard errors in a 95 % interval."""
_FOUND = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(POWER)
"""Standard errors in a difference that is found with that power."""


class Spread(NamedTuple):
    """What the mean of a figure over instances varies by.

    Attributes:
        between: the variance over instances of what is expected on each.
        within: the variance of an episode about that, a mean over instances.
    """

    between: float
    within: float

    def error(self, instances: int, samples: int) -> float:
        """Return the standard error of the mean over instances, each played so often."""
        return sqrt((self.between + self.within / samples) / instances)


class Differences(NamedTuple):
    """What the difference of two models varies by.

    Attributes:
        unpaired: where each plays instances of its own.
        paired: where both play the same ones.
    """

    unpaired: Spread
    paired: Spread


def of_one(spread: Spread, correlation: float) -> Differences:
    """Return how two models differ that have the same spread.

    Args:
        spread: of each.
        correlation: over instances, of what the two are expected to do.
    """
    between, within = 2 * spread.between, 2 * spread.within
    return Differences(Spread(between, within), Spread(between * (1 - correlation), within))


def assumed(success: float, share: float) -> Spread:
    """Return the spread of a model's success.

    Args:
        success: in (0, 1).
        share: of an episode's variance that lies between instances.
    """
    variance = success * (1 - success)
    return Spread(variance * share, variance * (1 - share))


def measured(instances: Sequence[Sequence[float]]) -> Spread:
    """Return the spread that a model shows.

    The variance within instances is that of their samples. With one sample an instance it cannot be
    known; then all variance counts as between instances, so that samples are not said to help.

    Args:
        instances: the values of each, two instances or more.

    Raises:
        ValueError: if there are fewer than two instances, or one without a value.
    """
    if len(instances) < 2 or not all(instances):
        raise ValueError("two instances are needed, each with a value")
    within = _within(instances)
    means = _variance([_mean(samples) for samples in instances])
    return Spread(max(means - within * _samples(instances), 0.0), within)


def measured_pair(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> Differences:
    """Return how two models differ that have played the same instances, see `measured`.

    Args:
        a: the first model's values of each instance.
        b: the second one's, of the same instances in the same order.

    Raises:
        ValueError: if there are fewer than two instances, one without a value, or not as many in
            both.
    """
    of_a, of_b = measured(a), measured(b)
    differences = [_mean(x) - _mean(y) for x, y in zip(a, b, strict=True)]
    added = of_a.within * _samples(a) + of_b.within * _samples(b)
    within = of_a.within + of_b.within
    between = max(_variance(differences) - added, 0.0)
    return Differences(Spread(of_a.between + of_b.between, within), Spread(between, within))


def detectable(spreads: Sequence[Spread], instances: Sequence[int], samples: int) -> float:
    """Return the difference of a mean over environments that is found with a power of 80 %.

    Args:
        spreads: of the difference in each environment.
        instances: of each environment.
        samples: episodes on each instance.
    """
    errors = [
        spread.error(count, samples) for spread, count in zip(spreads, instances, strict=True)
    ]
    return _FOUND * sqrt(sum_in_order(error**2 for error in errors)) / len(errors)


def instances_needed(difference: float, spreads: Sequence[Spread], samples: int) -> int:
    """Return how many instances of each environment find a difference with a power of 80 %.

    Args:
        difference: of the mean over environments, above 0.
        spreads: of the difference in each environment.
        samples: episodes on each instance.
    """
    alone = detectable(spreads, [1] * len(spreads), samples)
    return max(ceil((alone / difference) ** 2), 2)


def detectable_by(interval: Interval) -> float | None:
    """Return the difference that a comparison finds with a power of 80 %, by its 95 % interval.

    Returns:
        The distance from 0; None where the interval has no width, and nothing is known of the
        spread.
    """
    low, high = interval
    return _FOUND * (high - low) / _WIDTH if high > low else None


def detectable_beside(interval: Interval) -> float | None:
    """Return how far another figure of the same spread, of other instances, must be to be told.

    Args:
        interval: of 95 %, of one figure.

    Returns:
        The distance; None where the interval has no width.
    """
    alone = detectable_by(interval)
    return None if alone is None else sqrt(2) * alone


def _within(instances: Sequence[Sequence[float]]) -> float:
    """Return the variance of samples about their instance, 0 where none has two."""
    squares = [
        (value - mean) ** 2
        for samples in instances
        for mean in [_mean(samples)]
        for value in samples
    ]
    free = sum(len(samples) - 1 for samples in instances)
    return sum_in_order(squares) / free if free else 0.0


def _samples(instances: Sequence[Sequence[float]]) -> float:
    """Return the mean of 1 over the number of samples."""
    return _mean([1 / len(samples) for samples in instances])


def _variance(values: Sequence[float]) -> float:
    mean = _mean(values)
    return sum_in_order((value - mean) ** 2 for value in values) / (len(values) - 1)


def _mean(values: Sequence[float]) -> float:
    return sum_in_order(values) / len(values)
