"""`compare`: how two runs differ on the same instances."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.groups import ForeignOptions
from ragen_bench.cli.json_output import JsonOptions
from ragen_bench.cli.options import Argument, Command


@dataclass(frozen=True, kw_only=True)
class Compare(JsonOptions, ForeignOptions, Command):
    """Says how two runs differ on the same instances."""

    a: Annotated[Path, Argument("RUN_A")]
    b: Annotated[Path, Argument("RUN_B")]

    def run(self) -> int:
        """Print the table of differences, and write the figures where they are asked for."""
        from ragen_bench.console.comparison import print_comparison
        from ragen_bench.console.plain import plain_console
        from ragen_bench.runs.directory import read_run
        from ragen_bench.scores.compare import compare

        with self.output() as found:
            self.name_environments()
            runs = read_run(self.a), read_run(self.b)
            console = plain_console()
            with console.status("Playing the random player on the common instances ..."):
                found.update(compare(*runs))
            if not self.printed:
                print_comparison(console, found)
        return 0
