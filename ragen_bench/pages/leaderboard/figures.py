"""The metrics of an entry, read from its untrusted summary."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated

from pydantic import Field, TypeAdapter
from pydantic_core import PydanticCustomError

from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.schema import Amount, Figure, Interval, read_as
from ragen_bench.runs.schema import Count, Positive, RunConfig, Text
from ragen_bench.scores.baselines import compute_baseline, is_close_to_blind


@dataclass(frozen=True)
class Player:
    """The success of a baseline in an environment, with its interval."""

    success: Figure
    success_interval: Interval


@dataclass(frozen=True)
class Efficiency:
    """Efficiency of the solved episodes, see `ragen_bench.scores.efficiency`."""

    solved: Positive
    tokens_per_solved: Amount | None = None
    measured: Positive | None = None
    actions_over_optimal: Amount | None = None
    actions_over_optimal_interval: Interval | None = None
    turns_over_optimal: Amount | None = None
    turns_over_optimal_interval: Interval | None = None

    def __post_init__(self) -> None:
        _check_both(self.actions_over_optimal, self.actions_over_optimal_interval)
        _check_both(self.turns_over_optimal, self.turns_over_optimal_interval)


@dataclass(frozen=True)
class Scores:
    """Metrics of some of the episodes."""

    episodes: Count
    success: Figure | None = None
    success_interval: Interval | None = None
    score: Figure | None = None
    score_interval: Interval | None = None

    def __post_init__(self) -> None:
        _check_both(self.score, self.score_interval)


@dataclass(frozen=True)
class Drops:
    """Manifest of the episodes that did not go as planned, see `ragen_bench.scores.drops`."""

    planned: Positive
    missing: Count = 0
    excluded: dict[Text, Positive] = field(default_factory=dict)
    given_up: dict[Text, Positive] = field(default_factory=dict)
    context_overflow: Count = 0
    cut: Count = 0
    invalid_format: Count = 0
    without: Scores | None = None
    with_excluded: Scores | None = None


@dataclass(frozen=True)
class Row:
    """An entry's metrics in one environment, with 95 % intervals.

    `score` is a mean in [0, 1]; `normalised` is 0 for the random baseline and 1 for the optimal
    score.
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
    blind: Player | None = None
    efficiency: Efficiency | None = None
    drops: Drops | None = None

    def __post_init__(self) -> None:
        _check_both(self.normalised, self.normalised_interval)

    @property
    def is_close_to_blind(self) -> bool:
        """Whether success is not above that of a blind player."""
        return self.blind is not None and is_close_to_blind(
            self.success_interval[0], self.blind.success, self.random.success
        )


@dataclass(frozen=True)
class Figures:
    """The metrics of an entry, by environment in the order of the suite, and the suite score.

    `people` is the number of people who played, None for a model.
    """

    suite_score: Figure | None
    suite_interval: Annotated[Interval | None, Field(alias="suite_score_interval")]
    rows: Annotated[tuple[Row, ...], Field(alias="envs")]
    given_up: dict[Text, Positive] | None = None
    people: Positive | None = None

    def __post_init__(self) -> None:
        _check_both(self.suite_score, self.suite_interval)


def read_figures(summary: JsonObject) -> Figures:
    """Read the metrics of an untrusted summary; an EntryError gives the place of a bad one."""
    return read_as(_FIGURES.validate_python, summary, "summary")


def add_blind_scripts(figures: Figures, config: RunConfig) -> Figures:
    """Return the metrics with the blind scripts' success, which earlier entries lack."""
    rows = []
    for row, env in zip(figures.rows, config.envs, strict=False):
        blind = compute_baseline("blind", row.env, config.split, env.played, draw=config.draw_key)
        player = Player(blind["success"], blind["success_interval"]) if blind else None
        rows.append(replace(row, blind=row.blind or player) if row.env == env.id else row)
    return replace(figures, rows=tuple(rows))


def _check_both(figure: float | None, interval: Interval | None) -> None:
    if (figure is None) != (interval is None):
        raise PydanticCustomError("half", "has a score without interval, or one without score")


_FIGURES = TypeAdapter(Figures)
