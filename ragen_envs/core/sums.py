"""Sums of floats that are the same in every version of Python."""

from __future__ import annotations

from collections.abc import Iterable


def sum_in_order(values: Iterable[float]) -> float:
    """Return the sum from left to right, rounded after each addition; 0.0 for no values.

    From Python 3.12 on, the built-in `sum` compensates for rounding, so that its results differ
    from those of 3.11. All values in records and reports are summed here instead.
    """
    total = 0.0
    for value in values:
        total += value
    return total
