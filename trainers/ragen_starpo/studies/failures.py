"""Whether an agent fails for the same reasons in several environments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from ragen_envs.core.sums import sum_in_order


def failure_figures(envs: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Return how much the failures in the first environment and in each other have in common.

    That is the sum, over the labels, of the smaller of a label's two shares of the failed episodes:
    1 where both have the same shares, 0 where no label is in both.

    Args:
        envs: the rows of `analysis.json`; the others are compared with the first.

    Returns:
        `failures_alike`, the mean over the other environments, and the figure of each, whose name
        ends with "/" and the environment's id; None where an agent never failed. Nothing where
        there is no other.
    """
    if len(envs) < 2:
        return {}
    (_, first), *others = [(row["env"], _shares(row)) for row in envs]
    alike = {f"failures_alike/{env}": _in_common(first, shares) for env, shares in others}
    known = [value for value in alike.values() if value is not None]
    return {"failures_alike": fmean(known) if len(known) == len(others) else None, **alike}


def _shares(row: Mapping[str, Any]) -> dict[str, float]:
    return {failure["label"]: failure["episodes"] / row["failed"] for failure in row["failures"]}


def _in_common(one: Mapping[str, float], other: Mapping[str, float]) -> float | None:
    if not one or not other:
        return None
    return sum_in_order(min(share, other.get(label, 0.0)) for label, share in sorted(one.items()))
