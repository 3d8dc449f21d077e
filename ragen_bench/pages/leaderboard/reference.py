"""Published figures, which stand apart from the rankings: `reference.json`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from ragen_bench.errors import UserError
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.schema import Figure, read_as
from ragen_bench.leaderboard.strict_json import BadJsonError, parse
from ragen_bench.runs.schema import Text

_MOST_BYTES = 1 << 20


@dataclass(frozen=True)
class Reported:
    """One published line of figures.

    Attributes:
        where: the place in the source, such as a table's number; "" if not given.
        method: what was measured.
        scores: per cent, by name.
    """

    where: Text
    method: Text
    scores: dict[Text, Annotated[Figure, Field(ge=0, le=100)]]


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where figures were published.

    Attributes:
        title: the title of the work.
        link: its page, or None.
        settings: how the figures were measured there.
        metric: what the figures are.
        rows: the figures.
    """

    title: Text
    link: Text | None = None
    settings: Text
    metric: Text
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
        return read_as(_REFERENCE.validate_python, content).sources
    except (BadJsonError, EntryError) as error:
        raise UserError(f"{file} {error}", exit_code=1) from None


@dataclass(frozen=True)
class _Reference:
    sources: tuple[Source, ...]


_REFERENCE = TypeAdapter(_Reference)
