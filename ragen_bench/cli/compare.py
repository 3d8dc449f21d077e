"""`compare`: how runs differ on the same instances."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.groups import ForeignOptions
from ragen_bench.cli.json_output import JsonOptions
from ragen_bench.cli.options import Command
from ragen_bench.errors import UserError
from ragen_bench.options.looks import Argument, Option


@dataclass(frozen=True, kw_only=True)
class Compare(JsonOptions, ForeignOptions, Command):
    """Says how runs differ on the same instances.

    Of more than two runs, each is compared with the first. With --public and --sealed it says
    whether one model does better on instances that it may have seen.
    """

    runs: Annotated[tuple[Path, ...], Argument("RUN", "two or more, compared with the first")] = ()
    public: Annotated[Path | None, Option("RUN", "of a model on train, val or test")] = None
    sealed: Annotated[Path | None, Option("RUN", "of the same model on sealed or drawn")] = None
    html: Annotated[Path | None, Option("FILE", "write a page of the comparison")] = None

    def run(self) -> int:
        """Print the table of differences, and write the figures where they are asked for."""
        if self.public or self.sealed:
            return self._contamination()
        if len(self.runs) < 2:
            raise UserError(
                "compare takes two runs or more, or --public RUN and --sealed RUN (try "
                "`ragen-bench compare --help`)"
            )
        from ragen_bench.console.comparison import print_comparison, print_comparisons
        from ragen_bench.console.plain import plain_console
        from ragen_bench.runs.directory import read_run
        from ragen_bench.scores.compare import compare_with_first

        with self.output() as content:
            self.name_environments()
            runs = [read_run(path) for path in self.runs]
            console = plain_console()
            with console.status("Playing the random player on the common instances ..."):
                compared = compare_with_first(runs)
            content.update(compared if len(runs) > 2 else compared["comparisons"][0])
            if not self.printed:
                (print_comparisons if len(runs) > 2 else print_comparison)(console, content)
            if self.html:
                from ragen_bench.pages.comparison import comparison_page
                from ragen_bench.runs.atomic import write_text

                write_text(self.html, comparison_page(compared))
                sys.stdout.write(f"Page  {self.html}\n")
        return 0

    def _contamination(self) -> int:
        """Print how one model does on public and on sealed instances."""
        from ragen_bench.console.contamination import print_contamination
        from ragen_bench.console.plain import plain_console
        from ragen_bench.runs.directory import read_run
        from ragen_bench.scores.contamination import contamination

        if self.public is None or self.sealed is None or self.runs or self.html:
            raise UserError(
                "--public RUN and --sealed RUN go together, without further runs or --html"
            )
        with self.output() as content:
            self.name_environments()
            content.update(contamination(read_run(self.public), read_run(self.sealed)))
            if not self.printed:
                print_contamination(plain_console(), content)
        return 0
