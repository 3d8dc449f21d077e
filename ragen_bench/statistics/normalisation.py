"""Scores between the floor and the ceiling."""

from __future__ import annotations


def normalised(score: float, floor: float, ceiling: float) -> float | None:
    """Return where a score stands between the random player's (0) and the oracle's (1).

    Not clipped: a model can do worse than random.

    Returns:
        The normalised score, or None where the ceiling is not above the floor: on a few hard
        instances a random player's luck can reach the best one's expectation, and the scale would
        have no length, or be turned round.
    """
    if ceiling <= floor:
        return None
    return (score - floor) / (ceiling - floor)
