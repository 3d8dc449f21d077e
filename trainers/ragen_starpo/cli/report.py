"""`report`: a training run's page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.options import Command
from ragen_bench.options.looks import Argument


@dataclass(frozen=True)
class Report(Command):
    """Draws a run's curves in RUN/report.html, also while it is trained."""

    directory: Annotated[Path, Argument("RUN", "directory of a run")]

    def run(self) -> int:
        """Write the page and say where it is."""
        from ragen_bench.console.plain import plain_console
        from ragen_starpo.report import write_report
        from ragen_starpo.report.reading import read_training_run

        path = write_report(read_training_run(self.directory))
        plain_console().print(f"Report  {path}", soft_wrap=True)
        return 0
