"""The figures of an entry, read from its summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.runs.differences import brief
from ragen_bench.runs.schema import Object

Interval = tuple[float, float]
_NUMBER = (int, float)


@dataclass(frozen=True)
class Player:
    """The success of the random player or the oracle in an environment, with its interval."""

    success: float
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

    env: str
    episodes: int
    success: float
    success_interval: Interval
    score: float
    score_interval: Interval
    normalised: float | None
    normalised_interval: Interval | None
    random: Player
    oracle: Player


@dataclass(frozen=True)
class Figures:
    """What an entry scored.

    Attributes:
        suite_score: the mean of the normalised scores, None where there is none.
        suite_interval: of the suite score, None with it.
        rows: the environments, in the order of the suite.
    """

    suite_score: float | None
    suite_interval: Interval | None
    rows: tuple[Row, ...]


def figures_of(summary: Object) -> Figures:
    """Return the figures of a summary, which may be a stranger's.

    Args:
        summary: of an entry.json that has the published form.

    Raises:
        EntryError: if a figure is not there or is not a number, with its place.
    """
    return Figures(
        _number_or_none(summary, "suite_score", "summary"),
        _interval_or_none(summary, "suite_score", "suite_score_interval", "summary"),
        tuple(_row(row, f"summary.envs[{n}]") for n, row in enumerate(summary["envs"])),
    )


def _row(row: Object, path: str) -> Row:
    return Row(
        row["env"],
        int(_number(row, "episodes", path)),
        _number(row, "success", path),
        _interval(row, "success_interval", path),
        _number(row, "score", path),
        _interval(row, "score_interval", path),
        _number_or_none(row, "normalised", path),
        _interval_or_none(row, "normalised", "normalised_interval", path),
        *(_player(row, player, path) for player in ("random", "oracle")),
    )


def _player(row: Object, name: str, path: str) -> Player:
    player, path = row[name], f"{path}.{name}"
    if not isinstance(player, dict):
        raise EntryError(f"{path}: {brief(player)} is not an object")
    return Player(_number(player, "success", path), _interval(player, "success_interval", path))


def _number(place: Object, name: str, path: str) -> float:
    value: Any = place.get(name)
    if isinstance(value, bool) or not isinstance(value, _NUMBER):
        raise EntryError(f"{path}.{name}: {brief(value)} is not a number")
    return value


def _number_or_none(place: Object, name: str, path: str) -> float | None:
    return None if place.get(name) is None else _number(place, name, path)


def _interval(place: Object, name: str, path: str) -> Interval:
    bounds: Any = place.get(name)
    if not isinstance(bounds, list) or len(bounds) != 2:
        raise EntryError(f"{path}.{name}: {brief(bounds)} is not an interval")
    low, high = (_number({name: bound}, name, path) for bound in bounds)
    if low > high:
        raise EntryError(f"{path}.{name}: begins behind its end")
    return low, high


def _interval_or_none(place: Object, value: str, name: str, path: str) -> Interval | None:
    return None if place.get(value) is None else _interval(place, name, path)
