"""A figure of several runs over their iterations: mean, lowest and highest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

Band: TypeAlias = list[list[float]]
"""For each iteration that all runs have: itself, the mean, the lowest and the highest value."""


def band(curves: Sequence[Sequence[tuple[int, float]]]) -> Band:
    """Return the band of runs, nothing of none.

    Args:
        curves: of each run its iterations and values.
    """
    of_runs = [dict(points) for points in curves]
    common = sorted(set.intersection(*map(set, of_runs))) if of_runs else []
    values = {iteration: [points[iteration] for points in of_runs] for iteration in common}
    return [[at, float(np.mean(these)), min(these), max(these)] for at, these in values.items()]


def joined(one: Band, other: Band, weights: tuple[int, int]) -> Band:
    """Return the band of all the runs that two bands are of.

    Args:
        one: of some runs.
        other: of other runs.
        weights: how many runs each is of; the band of no runs is left out.
    """
    if not all(weights):
        return one if weights[0] else other
    by_iteration = {int(point[0]): point for point in other}
    return [
        [
            at,
            float(np.average([mean, by_iteration[int(at)][1]], weights=weights)),
            min(low, by_iteration[int(at)][2]),
            max(high, by_iteration[int(at)][3]),
        ]
        for at, mean, low, high in one
        if int(at) in by_iteration
    ]
