"""Options that several commands share."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from ragen_bench.command_line import Option
from ragen_bench.json_types import JsonObject
from ragen_bench.visible import write_out

if TYPE_CHECKING:
    from ragen_bench.leaderboard.announcements import FindDraw

SCHEMA: Final = 1
"""Version of the JSON documents; it rises when a field is renamed or changes its meaning."""
_STDOUT = Path("-")


@dataclass(frozen=True, kw_only=True)
class JsonOptions:
    """`--json`: the results as one document, on standard output or in a file."""

    heading = "output"

    json: Annotated[
        Path | None,
        Option("[FILE]", "print JSON only, notes on stderr; or write it: X.json or --json=FILE"),
    ] = None

    @property
    def prints_json(self) -> bool:
        """Whether standard output is the document and nothing else."""
        return self.json == _STDOUT

    @contextmanager
    def output(self) -> Iterator[JsonObject]:
        """Print or write the dictionary that the block fills, once it ends without an error.

        Where the document is printed, all other output goes to standard error, that of C
        libraries too. A block that fills in nothing, since it was interrupted, has no document.
        """
        content: JsonObject = {}
        if not self.prints_json:
            yield content
            if self.json and content:
                self.json.write_text(_to_json(content), encoding="utf-8", newline="\n")
                write_out(f"JSON  {self.json}\n")
            return
        sys.stdout.flush()
        stdout = os.dup(1)
        os.dup2(2, 1)
        try:
            with redirect_stdout(sys.stderr):
                yield content
        finally:
            os.dup2(stdout, 1)
            os.close(stdout)
        if content:
            write_out(_to_json(content))


def _to_json(content: JsonObject) -> str:
    return json.dumps(_make_finite({"schema": SCHEMA, **content}), indent=2, allow_nan=False) + "\n"


def _make_finite(value: object) -> object:
    """Return a value with None in place of NaN and infinity, which JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _make_finite(each) for key, each in value.items()}
    return [_make_finite(each) for each in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True, kw_only=True)
class PriceOptions:
    """Prices of tokens."""

    heading = "output"

    prices: Annotated[Path | None, Option("FILE", "prices of tokens (default: $RAGEN_PRICES)")] = (
        None
    )


@dataclass(frozen=True, kw_only=True)
class DrawsOptions:
    """Place of the draws of entries on the drawn split."""

    draws: Annotated[
        Path | None,
        Option(
            "DIR",
            "draws of drawn entries, or the file of one (default: draws/ next to the entries' "
            "folder)",
        ),
    ] = None

    def find_draw(self) -> FindDraw | None:
        """Return the function that finds a draw; None for the leaderboard of the entry."""
        from ragen_bench.leaderboard.announcements import find_draws_in

        return None if self.draws is None else find_draws_in(self.draws)


@dataclass(frozen=True, kw_only=True)
class ThirdPartyOptions:
    """Third-party environments of a run."""

    env: Annotated[
        tuple[str, ...],
        Option("ID", "a third-party environment of the run, to import; may be repeated"),
    ] = ()

    def import_environments(self) -> None:
        """Import the environments that the user named; a run's record alone is not trusted."""
        from ragen_bench.suites import env_id

        for env in self.env:
            env_id(env, opposed=None)


@dataclass(frozen=True, kw_only=True)
class ReplayOptions(ThirdPartyOptions):
    """Third-party code of a run, which a replay needs."""

    random_player: Annotated[
        str | None, Option("NAME", "MODULE:FUNCTION, the run's random player, to import")
    ] = None

    def import_named(self) -> None:
        """Import the environments and the random player that the user named."""
        from ragen_bench.models.random_player import import_random_player

        self.import_environments()
        if self.random_player is not None:
            import_random_player(self.random_player)
