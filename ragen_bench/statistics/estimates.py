"""Means with their intervals, normalised scores, pass@k, pass^k and mean@k."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, sqrt
from typing import NamedTuple

from ragen_bench.statistics.intervals import Interval, mean_interval
from ragen_envs.core.sums import sum_in_order


class Estimate(NamedTuple):
    """A value and its 95 % interval."""

    value: float
    interval: Interval

    def rescale(self, factor: float, offset: float = 0.0) -> Estimate:
        """Return the estimate of `factor * value + offset`."""
        bounds = sorted(factor * bound + offset for bound in self.interval)
        return Estimate(factor * self.value + offset, (bounds[0], bounds[1]))

    def normalise(self, floor: float, ceiling: float) -> Estimate | None:
        """Return a score's estimate between the random baseline (0) and the optimal score (1).

        Both are taken as known numbers. See `normalise` for when it returns None.
        """
        if ceiling <= floor:
            return None
        return self.rescale(1 / (ceiling - floor), -floor / (ceiling - floor))


def normalise(score: float, floor: float, ceiling: float) -> float | None:
    """Return a score relative to the random baseline (0) and the optimal score (1).

    The result is not clipped: a model can do worse than random.

    Returns:
        The normalised score, or None where the optimal score is not above the baseline. On a few
        hard instances, a random player's luck can reach the best player's expectation.
    """
    if ceiling <= floor:
        return None
    return (score - floor) / (ceiling - floor)


def mean(values: Sequence[float]) -> float:
    """Return the mean of at least one value."""
    return sum_in_order(values) / len(values)


def mean_estimate(
    clusters: Sequence[Sequence[float]], by_person: Sequence[Sequence[float]] = ()
) -> Estimate:
    """Return the mean of values between 0 and 1 and its interval, see `mean_interval`.

    Args:
        clusters: Values by instance.
        by_person: The same values by person, where people played.

    Raises:
        ValueError: if no cluster is given, one is empty, or a value outside [0, 1].
    """
    interval = mean_interval(clusters, by_person=by_person)
    return Estimate(mean([value for cluster in clusters for value in cluster]), interval)


def mean_of(estimates: Sequence[Estimate], *, dependent: bool = False) -> Estimate:
    """Return the mean of independent estimates, such as a suite's score over environments.

    The distances between bounds and values are added in squares, separately for each side. With
    many instances, the result equals a bootstrap stratified by environment. Unlike the bootstrap,
    it holds where an environment was solved never or always. Of `dependent` estimates, such as
    those of the same few people, the distances are added as they are, which holds for any
    dependence.

    Source: Zou, Huang and Zhang 2009, A note on confidence interval estimation for a linear
    function of binomial proportions (Computational Statistics and Data Analysis 53).

    Raises:
        ValueError: if there is no estimate.
    """
    if not estimates:
        raise ValueError("no estimate to take the mean of")
    value = sum_in_order(estimate.value for estimate in estimates) / len(estimates)
    power = 1 if dependent else 2
    below = sum_in_order((each.value - each.interval[0]) ** power for each in estimates)
    above = sum_in_order((each.interval[1] - each.value) ** power for each in estimates)
    if not dependent:
        below, above = sqrt(below), sqrt(above)
    return Estimate(value, (value - below / len(estimates), value + above / len(estimates)))


def pass_at_k(episodes: int, solved: int, k: int) -> float | None:
    """Return the probability that at least one of k episodes on an instance solves it.

    Unbiased: the fraction of all sets of k episodes that contain a solved one.
    Source: Chen et al. 2021, Evaluating large language models trained on code
    (arXiv 2107.03374), section 2.1.

    Args:
        episodes: Number of episodes on the instance.
        solved: Number of solved ones.
        k: Size of the sets, at least 1.

    Returns:
        The estimate; None for fewer than k episodes.

    Raises:
        ValueError: if `solved` exceeds `episodes`, or k is below 1.
    """
    all_fail = _fraction_of_sets(episodes, episodes - solved, k)
    return None if all_fail is None else 1 - all_fail


def pass_hat_k(episodes: int, solved: int, k: int) -> float | None:
    """Return the probability that all of k episodes on an instance solve it, pass^k.

    Unbiased: the fraction of all sets of k episodes that are all solved.
    Source: Yao et al. 2024, tau-bench (arXiv 2406.12045). Arguments, result and errors are those of
    `pass_at_k`.
    """
    return _fraction_of_sets(episodes, solved, k)


def mean_at_k(values: Sequence[float], k: int) -> float | None:
    """Return the expected mean of k of an instance's values, mean@k.

    It is the mean of all values, since drawing k at random does not change the expectation.

    Args:
        values: Scores of the instance's episodes.
        k: Number of values, at least 1.

    Returns:
        The mean; None for fewer than k values.

    Raises:
        ValueError: if k is below 1.
    """
    if k < 1:
        raise ValueError(f"k is at least 1, got {k}")
    return mean(values) if len(values) >= k else None


def mean_over_instances(values: Sequence[float | None]) -> Estimate | None:
    """Return the mean of a metric over instances, with its interval.

    Args:
        values: One value between 0 and 1 per instance.

    Returns:
        The estimate; None without instances, or if one value is undefined. Skipping such an
        instance would change the metric.
    """
    defined = [[value] for value in values if value is not None]
    return mean_estimate(defined) if defined and len(defined) == len(values) else None


def _fraction_of_sets(episodes: int, chosen: int, k: int) -> float | None:
    if not 0 <= chosen <= episodes:
        raise ValueError(f"{chosen} of {episodes} episodes")
    if k < 1:
        raise ValueError(f"k is at least 1, got {k}")
    # A quotient of integers is rounded once, for any number of episodes.
    return comb(chosen, k) / comb(episodes, k) if episodes >= k else None
