"""Metrics over several episodes per instance: pass@k, pass^k, mean@k."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from ragen_bench.statistics.estimates import Estimate, mean, mean_estimate


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
