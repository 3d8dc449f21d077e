"""`replay`: recomputes a run's record from its responses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.shared_options import ReplayOptions
from ragen_bench.command_line import Argument, Command
from ragen_bench.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Replay(ReplayOptions, Command):
    """Recomputes a run from its responses and compares.

    Plays every episode of a run again from its responses alone and compares every field of the
    record. Ends with exit code 1 if anything differs.
    """

    directory: Annotated[Path, Argument("RUN")]

    def run(self) -> int:
        """Print a line for each difference; return 1 if there is one."""
        from ragen_bench.episodes.replay import replay
        from ragen_bench.runs.config_check import config_differences
        from ragen_bench.runs.directory import read_run
        from ragen_bench.terminal.console import plain_console
        from ragen_bench.terminal.progress import replay_bar

        self.import_named()
        run, console = read_run(self.directory), plain_console()
        with console.status("Computing the specifications of the environments ..."):
            differences = list(config_differences(run.config))
        for difference in differences:
            console.print(f"run.json  {difference}", soft_wrap=True)
        replayed = unequal = 0
        with replay_bar(console, run) as advance:
            for key, problem in replay(run.config, run.episodes()):
                replayed += 1
                advance()
                if problem:
                    unequal += 1
                    console.print(f"{'/'.join(map(str, key))}  {problem}", soft_wrap=True)
        if not replayed:
            raise UserError(f"{run.path} holds no finished episode yet", exit_code=1)
        specification = "differs, see above" if differences else "as this version computes it"
        console.print(f"Specification: {specification}.")
        console.print(
            f"Replayed {replayed:,} of {run.config.planned:,} planned episodes: "
            f"{replayed - unequal:,} equal, {unequal:,} different."
        )
        return 1 if differences or unequal else 0
