"""The metrics of an entry, read from its summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, TypeAdapter
from pydantic_core import PydanticCustomError

from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.schema import Figure, Interval, read_as
from ragen_bench.runs.schema import Positive, Text


@dataclass(frozen=True)
class Player:
    """The success of the random player or the oracle in an environment, with its interval."""

    success: Figure
    success_interval: Interval


@dataclass(frozen=True)
class Row:
    """An entry's metrics in one environment, with 95 % intervals.

    Attributes:
        env: Environment id.
        episodes: Number of episodes.
        success: Success rate.
        success_interval: Interval of the success rate.
        score: Mean score, in [0, 1].
        score_interval: Interval of the score.
        normalised: Score relative to the random baseline (0) and the optimal score (1), or None.
        normalised_interval: Interval of the normalised score, or None.
        random: The random player's success.
        oracle: The oracle's success.
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
    """The metrics of an entry.

    Attributes:
        suite_score: Mean of the normalised scores, or None.
        suite_interval: Interval of the suite score, or None.
        rows: Metrics by environment, in the order of the suite.
    """

    suite_score: Figure | None
    suite_interval: Annotated[Interval | None, Field(alias="suite_score_interval")]
    rows: Annotated[tuple[Row, ...], Field(alias="envs")]

    def __post_init__(self) -> None:
        _check_both(self.suite_score, self.suite_interval)


def read_figures(summary: JsonObject) -> Figures:
    """Read the metrics of an untrusted summary.

    Args:
        summary: Summary in an entry.json of the published form.

    Raises:
        EntryError: if a metric is missing or not a number; the message gives its place.
    """
    return read_as(_FIGURES.validate_python, summary, "summary")


def _check_both(figure: float | None, interval: Interval | None) -> None:
    if (figure is None) != (interval is None):
        raise PydanticCustomError("half", "has a score without interval, or one without score")


_FIGURES = TypeAdapter(Figures)
