"""Whether a player scores above another in the mean: an exact test, and Holm's correction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ragen_envs.core.sums import sum_in_order


def higher_and_lower(
    scores: Sequence[float], others: Sequence[float], seed: int = 0
) -> tuple[int, int]:
    """Return in how many of paired episodes a score counts as higher, and as lower, than the other.

    A score in [0, 1] counts as a success with the chance that it is, drawn once for both of a
    pair, so that the counts of graded scores test their means; those of 0/1 scores stay as they
    are. Source: Schlag 2008, A new method for constructing exact tests without making any
    assumptions.

    Args:
        scores: of one player, in [0, 1].
        others: of the other in the same episodes.
        seed: of the draws. The test of graded scores has its level over them, so tests that are
            counted together take other seeds.

    Raises:
        ValueError: if they are not as many, or one is outside [0, 1].
    """
    if len(scores) != len(others):
        raise ValueError(f"{len(scores)} scores do not pair with {len(others)}")
    a, b = np.array(scores, dtype=np.float64), np.array(others, dtype=np.float64)
    if any(((side < 0) | (side > 1)).any() for side in (a, b)):
        raise ValueError("a score is outside [0, 1]")
    rolls = np.random.Generator(np.random.PCG64(seed)).random(len(scores))
    won, lost = rolls < a, rolls < b
    return int((won & ~lost).sum()), int((lost & ~won).sum())


def chance_of(higher: int, lower: int) -> float:
    """Return how likely so many higher ones or more are if both players are equally good.

    McNemar's exact test, one-sided: of pairs that differ, the higher ones are binomial with 1/2.
    It is exact for independent pairs that are alike, and at most this likely for a worse player.

    Args:
        higher: pairs in which the player did better.
        lower: those in which it did worse.
    """
    pairs = higher + lower
    ways = way = 1  # to choose all of them
    for chosen in range(pairs, higher, -1):
        way = way * chosen // (pairs - chosen + 1)
        ways += way
    return ways / (1 << pairs)


def holm(chances: Sequence[float]) -> tuple[float, ...]:
    """Return chances adjusted so that all of a family together have the level of one.

    Source: Holm 1979, A simple sequentially rejective multiple test procedure (Scandinavian
    Journal of Statistics 6).
    """
    adjusted = [0.0] * len(chances)
    least = 0.0
    for rank, which in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        least = max(least, min(1.0, (len(chances) - rank) * chances[which]))
        adjusted[which] = least
    return tuple(adjusted)


def mean(values: Sequence[float]) -> float:
    """Return the mean of at least one value."""
    return sum_in_order(values) / len(values)
