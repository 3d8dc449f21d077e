"""The figures of an entry, read from its summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, TypeAdapter
from pydantic_core import PydanticCustomError

from ragen_bench.leaderboard.schema import Figure, Interval, read_as
from ragen_bench.runs.schema import Object, Positive, Text


@dataclass(frozen=True)
class Player:
    """The success of the random player or the oracle in an environment, with its interval."""

    success: Figure
    success_interval: Interval


@dataclass(frozen=True)
class Row:
    """An entry in one environment; rates lie in [0, 1], intervals are of 95 %.

    Attributes:
        env: the environment's id.
        episodes: how many.
        success: the share of them.
        success_interval: of the success.
        score: their mean score.
        score_interval: of the score.
        normalised: the score between the random player (0) and the best one (1), or None.
        normalised_interval: of the normalised score, or None.
        random: the floor.
        oracle: the ceiling.
    """

    env: Text
    episodes: Positive
    success: Figure
    success_interval: Interval
    score: Figure
    score_interval: Interval
    normalised: Figure | None
    normalised_interval: Interval | None
    random: Player
    oracle: Player

    def __post_init__(self) -> None:
        _check_both(self.normalised, self.normalised_interval)


@dataclass(frozen=True)
class Figures:
    """What an entry scored.

    Attributes:
        suite_score: the mean of the normalised scores, None where there is none.
        suite_interval: of the suite score, None with it.
        rows: the environments, in the order of the suite.
    """

    suite_score: Figure | None
    suite_interval: Annotated[Interval | None, Field(alias="suite_score_interval")]
    rows: Annotated[tuple[Row, ...], Field(alias="envs")]

    def __post_init__(self) -> None:
        _check_both(self.suite_score, self.suite_interval)


def figures_of(summary: Object) -> Figures:
    """Return the figures of a summary, which may be a stranger's.

    Args:
        summary: of an entry.json that has the published form.

    Raises:
        EntryError: if a figure is not there or is not a number, with its place.
    """
    return read_as(_FIGURES.validate_python, summary, "summary")


def _check_both(figure: float | None, interval: Interval | None) -> None:
    if (figure is None) != (interval is None):
        raise PydanticCustomError("half", "has a score without interval, or one without score")


_FIGURES = TypeAdapter(Figures)
