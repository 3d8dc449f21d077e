"""Whether an agent fails for the same reasons in several environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from ragen_envs.sums import sum_in_order

ALIKE = "failures_alike"
"""The figure; of one of the environments it is followed by "/" and that one's id."""


def failure_figures(envs: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Return how much the failures in the first environment and in each other have in common.

    That is the sum, over the labels, of the smaller of a label's two shares of the failed episodes:
    1 where both have the same shares, 0 where no label is in both.

    Args:
        envs: the rows of `analysis.json`, the environment that was trained in first.

    Returns:
        The mean over the other environments and, with its id, the figure of each; None where an
        agent never failed. Nothing where there is no other.
    """
    if len(envs) < 2:
        return {}
    first, *others = [(row["env"], _shares(row)) for row in envs]
    alike = {env: _in_common(first[1], shares) for env, shares in others}
    known = [value for value in alike.values() if value is not None]
    mean = fmean(known) if len(known) == len(others) else None
    return {ALIKE: mean, **{f"{ALIKE}/{env}": value for env, value in alike.items()}}


def _shares(row: Mapping[str, Any]) -> dict[str, float]:
    return {failure["label"]: failure["episodes"] / row["failed"] for failure in row["failures"]}


def _in_common(one: Mapping[str, float], other: Mapping[str, float]) -> float | None:
    if not one or not other:
        return None
    return sum_in_order(min(share, other.get(label, 0.0)) for label, share in sorted(one.items()))
