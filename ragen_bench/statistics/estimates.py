"""A mean with its interval, of one environment and of a suite."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

from ragen_bench.statistics.intervals import Interval, mean_interval
from ragen_envs.core.sums import sum_in_order


class Estimate(NamedTuple):
    """A figure and its 95 % interval."""

    value: float
    interval: Interval

    def scaled(self, factor: float, offset: float = 0.0) -> Estimate:
        """Return the estimate of factor * figure + offset."""
        bounds = sorted(factor * bound + offset for bound in self.interval)
        return Estimate(factor * self.value + offset, (bounds[0], bounds[1]))

    def normalised(self, floor: float, ceiling: float) -> Estimate | None:
        """Return a score's estimate on the scale from the random player (0) to the oracle (1).

        Floor and ceiling are taken as known numbers.

        Returns:
            The estimate, or None where the ceiling is not above the floor, see `normalised`.
        """
        if ceiling <= floor:
            return None
        return self.scaled(1 / (ceiling - floor), -floor / (ceiling - floor))


def mean_estimate(clusters: Sequence[Sequence[float]]) -> Estimate:
    """Return the mean of values between 0 and 1, and its interval, see `mean_interval`.

    Args:
        clusters: the values of each instance.

    Raises:
        ValueError: if there is no cluster, an empty one, or a value outside [0, 1].
    """
    interval = mean_interval(clusters)
    values = [value for cluster in clusters for value in cluster]
    return Estimate(sum_in_order(values) / len(values), interval)


def mean_of(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of independent estimates: a suite's score from its environments'.

    The distances of the bounds from the figures are squared and added, each side by itself. With
    many instances this is what a bootstrap stratified by environment gives; unlike the bootstrap it
    still holds where an environment was solved never or always.

    Source: Zou, Huang and Zhang 2009, A note on confidence interval estimation for a linear
    function of binomial proportions (Computational Statistics and Data Analysis 53).

    Raises:
        ValueError: if there is no estimate.
    """
    if not estimates:
        raise ValueError("no estimate to take the mean of")
    value = sum_in_order(estimate.value for estimate in estimates) / len(estimates)
    below = sqrt(sum_in_order((each.value - each.interval[0]) ** 2 for each in estimates))
    above = sqrt(sum_in_order((each.interval[1] - each.value) ** 2 for each in estimates))
    return Estimate(value, (value - below / len(estimates), value + above / len(estimates)))
