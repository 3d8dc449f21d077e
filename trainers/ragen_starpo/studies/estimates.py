"""Estimates of a difference over seeds and instances: mean, standard error, interval."""

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
"""Values of order 1 that differ by at most this are equal."""


@dataclass(frozen=True)
class StudyEstimate:
    """A mean with its standard error.

    Attributes:
        mean: Mean over seeds and instances.
        error: Standard error of the mean.
        seeds: Number of seeds. Student's t has one degree of freedom less. There are fewer seeds
            than instances, so intervals are conservative.
        seeds_differ: True if the seeds have different values.
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
        """Return the two-sided p-value of the mean being equal to the margin.

        Equal values of all seeds do not show their spread, so their p-value is at least that of
        the sign test: 0.0625 for five seeds.
        """
        distance = abs(self.mean - margin)
        if distance <= _tolerance(self.mean):
            return 1.0
        from_t = 2 * float(stdtr(self.seeds - 1, -distance / self.error)) if self.error else 0.0
        return from_t if self.seeds_differ else max(from_t, 0.5 ** (self.seeds - 1))

    def detectable(self, level: float, power: float = 0.8) -> float | None:
        """Return the smallest distance from the margin that can be detected.

        Args:
            level: Level of the interval.
            power: Probability of detection. The error is taken as known, so a few seeds need a
                larger distance.

        Returns:
            The distance; None if all seeds have the same value.
        """
        if not self.seeds_differ:
            return None
        return (self._quantile((1 + level) / 2) + self._quantile(power)) * self.error

    def _quantile(self, probability: float) -> float:
        return float(stdtrit(self.seeds - 1, probability))


def over_seeds(values: Values) -> StudyEstimate:
    """Return the mean of one value for each seed.

    Args:
        values: (seeds,), at least two.
    """
    return _estimate(values, 0.0)


def over_seeds_and_instances(environments: Sequence[Values]) -> StudyEstimate:
    """Return the mean of a value for each seed on each instance, both drawn at random.

    Every seed plays every instance. The variance of the mean is the variance over seeds plus the
    contribution of instances in the two-way random-effects layout without replication (Cornfield
    and Tukey 1956, Annals of Mathematical Statistics 27). Instances of different environments are
    independent, and each environment has the same weight.

    Args:
        environments: (seeds, instances) of each environment; the same seeds, at least two of each.
    """
    means = np.mean([values.mean(axis=1) for values in environments], axis=0)
    added = sum_in_order(map(_instance_variance, environments)) / len(environments) ** 2
    return _estimate(means, added)


def _estimate(by_seed: Values, added: float) -> StudyEstimate:
    mean = float(by_seed.mean())
    differ = float(np.ptp(by_seed)) > _tolerance(mean)
    variance = float(by_seed.var(ddof=1)) / len(by_seed) if differ else 0.0
    return StudyEstimate(mean, math.sqrt(variance + added), len(by_seed), differ)


def _instance_variance(values: Values) -> float:
    """Return the contribution of the draw of instances to the variance of the mean."""
    seeds, instances = values.shape
    by_instance = values.mean(axis=0)
    residuals = values - values.mean(axis=1)[:, None] - by_instance[None, :] + values.mean()
    square = seeds * float(by_instance.var(ddof=1))
    residual = float((residuals**2).sum()) / ((seeds - 1) * (instances - 1))
    return float(max(0.0, square - residual) / values.size)


def _tolerance(mean: float) -> float:
    return _ROUNDING * max(1.0, abs(mean))
