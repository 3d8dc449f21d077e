"""`report`: a run's table and its page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.shared_options import PriceOptions, ReplayOptions
from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Report(PriceOptions, ReplayOptions, Command):
    """Prints a run's table and writes its HTML report."""

    directory: Annotated[Path, Argument("RUN")]
    confidence: Annotated[
        float | None, Option("P", "also print success with intervals of P per cent")
    ] = None
    exact: Annotated[bool, Option(None, "also print Clopper and Pearson's exact intervals")] = False

    def run(self) -> int:
        """Recompute the summary, print it, and write the report."""
        from ragen_bench.runs.directory import read_run
        from ragen_bench.scores.cost import load_prices
        from ragen_bench.scores.metrics import estimate_success
        from ragen_bench.terminal.console import plain_console
        from ragen_bench.terminal.results import show_results, success_lines

        self.import_named()
        run, prices = read_run(self.directory), load_prices(self.prices)
        if next(run.episodes(), None) is None:
            raise UserError(f"{self.directory} holds no finished episode yet", exit_code=1)
        console = plain_console()
        lines = []
        if self.exact or self.confidence is not None:
            level = 0.95 if self.confidence is None else self.confidence / 100
            lines = success_lines(
                estimate_success(run.episodes(), level, self.exact), level, self.exact
            )
        show_results(console, run, prices)
        for line in lines:
            console.print(line, soft_wrap=True)
        return 0
