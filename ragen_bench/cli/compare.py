"""`compare`: how runs differ on the same instances."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.groups import ForeignOptions
from ragen_bench.cli.json_output import JsonOptions
from ragen_bench.cli.options import Command
from ragen_bench.options.looks import Argument, Option


@dataclass(frozen=True, kw_only=True)
class Compare(JsonOptions, ForeignOptions, Command):
    """Says how runs differ on the same instances.

    Of more than two runs, each is compared with the first.
    """

    a: Annotated[Path, Argument("RUN_A")]
    b: Annotated[Path, Argument("RUN_B")]
    more: Annotated[tuple[Path, ...], Argument("RUN", "further runs, compared with RUN_A")] = ()
    html: Annotated[Path | None, Option("FILE", "write a page of the comparison")] = None

    def run(self) -> int:
        """Print the table of differences, and write the figures where they are asked for."""
        from ragen_bench.console.comparison import print_comparison, print_comparisons
        from ragen_bench.console.plain import plain_console
        from ragen_bench.runs.directory import read_run
        from ragen_bench.scores.compare import compare_with_first

        with self.output() as content:
            self.name_environments()
            runs = [read_run(path) for path in (self.a, self.b, *self.more)]
            console = plain_console()
            with console.status("Playing the random player on the common instances ..."):
                compared = compare_with_first(runs)
            content.update(compared if self.more else compared["comparisons"][0])
            if not self.printed:
                (print_comparisons if self.more else print_comparison)(console, content)
            if self.html:
                from ragen_bench.pages.comparison import comparison_page
                from ragen_bench.runs.atomic import write_text

                write_text(self.html, comparison_page(compared))
                sys.stdout.write(f"Page  {self.html}\n")
        return 0
