"""Quantiles of Student's t distribution."""

from __future__ import annotations

from math import cos, pi, sin, sqrt, tan


def student_quantile(degrees: int, level: float) -> float:
    """Return the number that Student's t exceeds in absolute value with probability 1 - level.

    Source: Abramowitz and Stegun 1964, Handbook of mathematical functions, 26.7.3 and 26.7.4, for a
    whole number of degrees of freedom.
    """
    low, high = 0.0, pi / 2
    for _ in range(60):  # bisect the angle whose tangent is t / sqrt(degrees)
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < level else (low, middle)
    return tan(low) * sqrt(degrees)


def _within(angle: float, degrees: int) -> float:
    """Return the probability that Student's t lies within an angle on either side of 0."""
    is_odd = degrees % 2
    term, total = (cos(angle) if is_odd else 1.0), 0.0
    for number in range(1 + is_odd, degrees, 2):
        total += term
        term *= cos(angle) ** 2 * number / (number + 1)
    if is_odd:
        return 2 / pi * (angle + sin(angle) * total)
    return sin(angle) * total
