"""Figures as text: rates in per cent, intervals, and rounded scores."""

from __future__ import annotations

from collections.abc import Sequence


def percent(value: float) -> str:
    """Return a rate in per cent with one digit."""
    return f"{100 * value:.1f}"


def interval(bounds: Sequence[float]) -> str:
    """Return an interval of rates in per cent."""
    return f"{percent(bounds[0])} - {percent(bounds[1])}"


def fixed(value: float, digits: int) -> str:
    """Return a number with so many digits, and zero without a sign."""
    # Adding 0 turns -0.0, which would be shown with its sign, into 0.0.
    return f"{round(value, digits) + 0.0:.{digits}f}"
