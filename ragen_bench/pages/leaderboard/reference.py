"""Published results of other works, listed separately from the rankings: `reference.json`."""

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

_MAX_BYTES = 1 << 20


@dataclass(frozen=True)
class Reported:
    """One published row: its place in the source or "", and scores in percent by name."""

    where: Text
    method: Text
    scores: dict[Text, Annotated[Figure, Field(ge=0, le=100)]]


@dataclass(frozen=True, kw_only=True)
class Source:
    """A published work, with the settings of its measurement and the definition of its scores."""

    title: Text
    link: Text | None = None
    settings: Text
    metric: Text
    rows: tuple[Reported, ...]

    @property
    def columns(self) -> list[str]:
        """Names of the scores, in order of first appearance."""
        return list(dict.fromkeys(name for row in self.rows for name in row.scores))


def read_reference(file: Path) -> tuple[Source, ...]:
    """Read the published results; () without the file.

    An invalid file raises a UserError that gives the place.
    """
    if not file.is_file():
        return ()
    try:
        with file.open("rb") as data:
            content = parse(data.read(_MAX_BYTES))
        return read_as(_REFERENCE.validate_python, content).sources
    except (BadJsonError, EntryError) as error:
        raise UserError(f"{file} {error}", exit_code=1) from None


@dataclass(frozen=True)
class _Reference:
    sources: tuple[Source, ...]


_REFERENCE = TypeAdapter(_Reference)
