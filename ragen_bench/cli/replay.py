"""`replay`: whether a run's record is what its answers lead to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.groups import PlayedOptions
from ragen_bench.cli.options import Command
from ragen_bench.options.looks import Argument


@dataclass(frozen=True, kw_only=True)
class Replay(PlayedOptions, Command):
    """Recomputes a run from its answers and compares.

    Plays every episode of a run again from its answers alone and compares every field of the
    record. Ends with exit code 1 if anything differs.
    """

    directory: Annotated[Path, Argument("RUN")]

    def run(self) -> int:
        """Print what differs; return 1 if anything does."""
        from ragen_bench.console.replay import print_replay
        from ragen_bench.runs.directory import read_run

        self.name_own()
        return 0 if print_replay(read_run(self.directory)) else 1
