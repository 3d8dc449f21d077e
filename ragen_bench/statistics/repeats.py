"""Figures of several episodes on the same instance: pass@k, pass^k, mean@k."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from ragen_bench.statistics.estimates import Estimate, mean_estimate
from ragen_envs.core.sums import sum_in_order


def pass_at_k(episodes: int, solved: int, k: int) -> float | None:
    """Return the chance that at least one of k episodes on an instance solves it.

    Unbiased: the share of all sets of k among the episodes that hold a solved one.
    Source: Chen et al. 2021, Evaluating large language models trained on code
    (arXiv 2107.03374), section 2.1.

    Args:
        episodes: how many were scored on the instance.
        solved: how many of them solved it.
        k: at least 1.

    Returns:
        The estimate; None where fewer than k episodes were scored.

    Raises:
        ValueError: if more are solved than scored, or k is below 1.
    """
    all_fail = _share(episodes, episodes - solved, k)
    return None if all_fail is None else 1 - all_fail


def pass_hat_k(episodes: int, solved: int, k: int) -> float | None:
    """Return the chance that all of k episodes on an instance solve it, pass^k.

    Unbiased: the share of all sets of k among the episodes that are solved throughout.
    Source: Yao et al. 2024, tau-bench (arXiv 2406.12045). Arguments, result and errors are those of
    `pass_at_k`.
    """
    return _share(episodes, solved, k)


def mean_at_k(values: Sequence[float], k: int) -> float | None:
    """Return the expected mean of k of an instance's values, mean@k.

    Drawing k of them at random does not change the expectation: it is the mean of all values.

    Args:
        values: the scores of an instance's episodes.
        k: at least 1.

    Returns:
        The mean; None where there are fewer than k values.

    Raises:
        ValueError: if k is below 1.
    """
    if k < 1:
        raise ValueError(f"k is at least 1, got {k}")
    return sum_in_order(values) / len(values) if len(values) >= k else None


def over_instances(values: Sequence[float | None]) -> Estimate | None:
    """Return the mean of a figure over instances, with its interval.

    Args:
        values: one figure between 0 and 1 for each instance.

    Returns:
        The estimate; None if there is no instance, or one whose figure is undefined: leaving such
        an instance out would change what is measured.
    """
    defined = [[value] for value in values if value is not None]
    return mean_estimate(defined) if defined and len(defined) == len(values) else None


def _share(episodes: int, chosen: int, k: int) -> float | None:
    """Return the share of the sets of k episodes that lie within the chosen ones."""
    if not 0 <= chosen <= episodes:
        raise ValueError(f"{chosen} of {episodes} episodes")
    if k < 1:
        raise ValueError(f"k is at least 1, got {k}")
    # Whole numbers: their quotient is rounded once, however many episodes there are.
    return comb(chosen, k) / comb(episodes, k) if episodes >= k else None
