"""Scores between the floor and the ceiling."""

from __future__ import annotations


def normalised(score: float, floor: float, ceiling: float) -> float | None:
    """Return where a score stands between the random player's (0) and the oracle's (1).

    Not clipped: a model can do worse than random.

    Returns:
        The normalised score, or None where floor and ceiling are equal.
    """
    if ceiling == floor:
        return None
    return (score - floor) / (ceiling - floor)
