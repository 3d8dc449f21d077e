"""Held, not held or undecided: what a study says of each of its claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragen_starpo.studies.estimates import StudyEstimate

Word: TypeAlias = Literal["held", "not held", "undecided"]
LEVEL = 0.95
"""Of all verdicts of a study together, by Holm's correction."""


@dataclass(frozen=True)
class Verdict:
    """What is known of a claim that a difference is above a margin.

    Attributes:
        word: `held` where the whole interval is above the margin, `not held` where it is below,
            `undecided` where the margin is inside.
        mean: the difference.
        interval: of the level that Holm's correction leaves to this claim.
        level: that level.
        margin: above which the difference holds.
        p_value: two-sided, of the difference being the margin, corrected.
        detectable: how far from the margin the difference must be to be told from it at 80 % power;
            None where all seeds have the same difference.
    """

    word: Word
    mean: float
    interval: tuple[float, float]
    level: float
    margin: float
    p_value: float
    detectable: float | None


def verdicts(estimates: Sequence[tuple[StudyEstimate, float]], more: int = 0) -> list[Verdict]:
    """Return the verdicts of a study's claims, corrected for their number.

    Source: Holm 1979, A simple sequentially rejective multiple test procedure (Scandinavian
    Journal of Statistics 6).

    Args:
        estimates: of each claim the difference and its margin.
        more: claims that cannot be judged yet; they count with a p-value of 1.
    """
    p_values = [estimate.p_value(margin) for estimate, margin in estimates]
    count = len(estimates) + more
    by_place: dict[int, Verdict] = {}
    corrected = level = 0.0
    for rank, place in enumerate(sorted(range(len(estimates)), key=p_values.__getitem__)):
        # The smallest is tested at a share of the level, the next one at a larger one, as long as
        # all before it were told apart. Where one is not, the others have its level, by which none
        # of them is told apart either.
        if corrected < 1 - LEVEL:
            level = 1 - (1 - LEVEL) / (count - rank)
        corrected = max(corrected, min(1.0, (count - rank) * p_values[place]))
        by_place[place] = _verdict(*estimates[place], level, corrected)
    return [by_place[place] for place in range(len(estimates))]


def _verdict(estimate: StudyEstimate, margin: float, level: float, p_value: float) -> Verdict:
    word: Word = "undecided"
    if p_value < 1 - LEVEL:
        word = "held" if estimate.mean > margin else "not held"
    return Verdict(
        word,
        estimate.mean,
        estimate.interval(level),
        level,
        margin,
        p_value,
        estimate.detectable(level),
    )
