"""Published figures, which stand apart from the rankings: `reference.json`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.leaderboard.strict_json import BadJsonError, parse
from ragen_bench.runs.differences import brief

_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Reported:
    """One published line of figures.

    Attributes:
        where: the place in the source, such as a table's number; "" if not given.
        method: what was measured.
        scores: per cent, by name.
    """

    where: str
    method: str
    scores: dict[str, float]


@dataclass(frozen=True)
class Source:
    """Where figures were published.

    Attributes:
        title: the title of the work.
        link: its page, or None.
        settings: how the figures were measured there.
        metric: what the figures are.
        rows: the figures.
    """

    title: str
    link: str | None
    settings: str
    metric: str
    rows: tuple[Reported, ...]

    @property
    def columns(self) -> list[str]:
        """The names of the scores, in the order of their first appearance."""
        return list(dict.fromkeys(name for row in self.rows for name in row.scores))


def read_reference(file: Path) -> tuple[Source, ...]:
    """Return the published figures, none without the file.

    Raises:
        UserError: if the file does not have the form, with the place.
    """
    if not file.is_file():
        return ()
    try:
        with file.open("rb") as data:
            content = parse(data.read(_MOST_BYTES))
        sources = _get(content, "sources", list, "")
        return tuple(_source(source, f"sources[{n}]") for n, source in enumerate(sources))
    except (BadJsonError, ValueError) as error:
        raise UserError(f"{file} {error}", exit_code=1) from None


def _source(source: Any, path: str) -> Source:
    texts = (_get(source, name, str, path) for name in ("title", "settings", "metric"))
    title, settings, metric = texts
    link = None if source.get("link") is None else _get(source, "link", str, path)
    rows = _get(source, "rows", list, path)
    return Source(
        title,
        link,
        settings,
        metric,
        tuple(_reported(row, f"{path}.rows[{n}]") for n, row in enumerate(rows)),
    )


def _reported(row: Any, path: str) -> Reported:
    where, method = (_get(row, name, str, path) for name in ("where", "method"))
    scores = _get(row, "scores", dict, path)
    for name, score in scores.items():
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 100:
            raise ValueError(f"{path}.scores: {brief(name)} is {brief(score)}, not 0 to 100")
    return Reported(where, method, scores)


def _get(place: Any, name: str, kind: type, path: str) -> Any:
    if not isinstance(place, dict):
        raise ValueError(f"{path}: {brief(place)} is not an object")
    if not isinstance(place.get(name), kind):
        raise ValueError(f"{path}.{name}: {brief(place.get(name))} is not a {kind.__name__}")
    return place[name]
