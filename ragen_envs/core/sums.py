"""Sums of floats that are the same in every version of Python."""

from __future__ import annotations

from collections.abc import Iterable


def sum_in_order(values: Iterable[float]) -> float:
    """Return the sum from the left to the right, rounded after each addition; 0.0 of nothing.

    The built-in `sum` compensates for this rounding from Python 3.12 on, so that a figure of 3.11
    would not be found again. Whatever ends in a record or a figure is therefore summed here.

    Args:
        values: finite or not.
    """
    total = 0.0
    for value in values:
        total += value
    return total
