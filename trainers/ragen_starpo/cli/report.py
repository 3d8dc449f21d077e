"""`report`: draws the page of a training run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.command_line import Argument, Command


@dataclass(frozen=True)
class Report(Command):
    """Draws the curves of a run, finished or not, into RUN/report.html."""

    directory: Annotated[Path, Argument("RUN", "directory of a run")]

    def run(self) -> int:
        """Write the page and print its path."""
        from ragen_bench.terminal.console import plain_console
        from ragen_starpo.report import read_training_run, write_report

        path = write_report(read_training_run(self.directory))
        plain_console().print(f"Report  {path}", soft_wrap=True)
        return 0
