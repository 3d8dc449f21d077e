"""`verify`: recomputes an entry of the leaderboard from its answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.groups import DrawsOptions
from ragen_bench.cli.json_output import JsonOptions
from ragen_bench.cli.options import Command
from ragen_bench.options.looks import Argument


@dataclass(frozen=True, kw_only=True)
class Verify(JsonOptions, DrawsOptions, Command):
    """Recomputes an entry of the leaderboard from its answers.

    Believes nothing in an entry that can be computed: replays every answer and recomputes every
    figure. Ends with exit code 1 if anything differs.
    """

    entry: Annotated[Path, Argument("ENTRY")]

    def run(self) -> int:
        """Print one line for each check; return 1 if the entry is refused."""
        from ragen_bench.console.verification import verify_entry

        draws = self.find_draw()
        with self.output() as content:
            return 0 if verify_entry(self.entry, content, draws) else 1
