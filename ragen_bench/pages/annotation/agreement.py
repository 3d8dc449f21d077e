"""Agreement of raters beyond chance: Krippendorff's alpha."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from ragen_envs.core.sums import sum_in_order


def krippendorff_alpha(units: Iterable[Sequence[int]], levels: int) -> float | None:
    """Return Krippendorff's alpha for ordinal ratings.

    1 is perfect agreement, 0 is chance, and below 0 is systematic disagreement. Any number of
    raters is allowed, and raters may skip units.

    Source: Krippendorff 2011, Computing Krippendorff's alpha-reliability, sections D and E.

    Args:
        units: Ratings of each unit, from 0 on, in any order.
        levels: Number of rating levels.

    Returns:
        Alpha; None if no unit has two ratings, or all ratings are equal.
    """
    pairs = _coincidences([unit for unit in units if len(unit) > 1], levels)
    totals = [sum_in_order(row) for row in pairs]
    ratings = sum_in_order(totals)
    observed = expected = 0.0
    for a, b in product(range(levels), repeat=2):
        distance = _ordinal_distance(totals, a, b)
        observed += pairs[a][b] * distance
        expected += totals[a] * totals[b] * distance
    return 1 - (ratings - 1) * observed / expected if expected else None


def _coincidences(units: Iterable[Sequence[int]], levels: int) -> list[list[float]]:
    """Count the ordered pairs of ratings within units, weighted by 1 / (ratings - 1)."""
    counts = [[0.0] * levels for _ in range(levels)]
    for unit in units:
        for i, a in enumerate(unit):
            for j, b in enumerate(unit):
                if i != j:
                    counts[a][b] += 1 / (len(unit) - 1)
    return counts


def _ordinal_distance(totals: Sequence[float], a: int, b: int) -> float:
    """Return the squared number of ratings between two levels, counting half of each end."""
    low, high = min(a, b), max(a, b)
    between = sum_in_order(totals[low : high + 1]) - (totals[low] + totals[high]) / 2
    return between**2 if low != high else 0.0
