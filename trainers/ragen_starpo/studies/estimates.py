"""A difference that seeds and instances have a part in: its mean, its error, its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from ragen_envs.core.sums import sum_in_order

Values: TypeAlias = NDArray[np.float64]
_ROUNDING = 1e-12
"""Of what is about 1: values at most this far apart are the same."""


@dataclass(frozen=True)
class StudyEstimate:
    """A mean with its standard error.

    Attributes:
        mean: over seeds and instances.
        error: of the mean.
        seeds: how many. Student's t has a degree of freedom less: seeds are what there is least of,
            so intervals are too wide, if anything.
        seeds_differ: whether the seeds have values of more than one kind.
    """

    mean: float
    error: float
    seeds: int
    seeds_differ: bool

    def interval(self, level: float) -> tuple[float, float]:
        """Return the two-sided interval of a level in (0, 1)."""
        half = self._quantile((1 + level) / 2) * self.error
        return self.mean - half, self.mean + half

    def p_value(self, margin: float) -> float:
        """Return the two-sided p-value of the mean being the margin.

        Seeds that all have the same value tell nothing of their spread, so no p-value of them is
        below that of the sign test: 0.0625 of five.
        """
        distance = abs(self.mean - margin)
        if distance <= _tolerance(self.mean):
            return 1.0
        of_t = 2 * float(stdtr(self.seeds - 1, -distance / self.error)) if self.error else 0.0
        return of_t if self.seeds_differ else max(of_t, 0.5 ** (self.seeds - 1))

    def detectable(self, level: float, power: float = 0.8) -> float | None:
        """Return how far from the margin a mean must be to be told from it.

        Args:
            level: of the interval.
            power: with which it is told; the error is taken as known, so few seeds need more yet.

        Returns:
            The distance; None where equal seeds tell nothing of their spread.
        """
        if not self.seeds_differ:
            return None
        return (self._quantile((1 + level) / 2) + self._quantile(power)) * self.error

    def _quantile(self, share: float) -> float:
        return float(stdtrit(self.seeds - 1, share))


def over_seeds(values: Values) -> StudyEstimate:
    """Return the mean of one value a seed.

    Args:
        values: (seeds,), two or more.
    """
    return _estimate(values, 0.0)


def over_seeds_and_instances(environments: Sequence[Values]) -> StudyEstimate:
    """Return the mean of a value for each seed on each instance, both being drawn at random.

    Every seed has met every instance, so the mean varies by both. Its variance is that over seeds,
    and what instances add to it in the two-way random-effects layout without replication (Cornfield
    and Tukey 1956, Annals of Mathematical Statistics 27). Of several environments it is the mean of
    their means; their instances are drawn independently.

    Args:
        environments: (seeds, instances) of each, of the same seeds, two or more, and of two or more
            instances of its own.
    """
    means = np.mean([values.mean(axis=1) for values in environments], axis=0)
    added = sum_in_order(map(_of_instances, environments)) / len(environments) ** 2
    return _estimate(means, added)


def _estimate(of_seeds: Values, added: float) -> StudyEstimate:
    mean = float(of_seeds.mean())
    differ = float(np.ptp(of_seeds)) > _tolerance(mean)
    variance = float(of_seeds.var(ddof=1)) / len(of_seeds) if differ else 0.0
    return StudyEstimate(mean, math.sqrt(variance + added), len(of_seeds), differ)


def _of_instances(values: Values) -> float:
    """Return what the draw of instances adds to the variance of the mean over seeds."""
    seeds, instances = values.shape
    of_instances = values.mean(axis=0)
    rest = values - values.mean(axis=1)[:, None] - of_instances[None, :] + values.mean()
    square = seeds * float(of_instances.var(ddof=1))
    of_rest = float((rest**2).sum()) / ((seeds - 1) * (instances - 1))
    return float(max(0.0, square - of_rest) / values.size)


def _tolerance(mean: float) -> float:
    return _ROUNDING * max(1.0, abs(mean))
