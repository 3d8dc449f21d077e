"""`report`: a run's page."""

from __future__ import annotations

import argparse

from ragen_bench.console.plain import plain_console
from ragen_starpo.report import write_report
from ragen_starpo.report.reading import read_left


def run_report(given: argparse.Namespace) -> int:
    """Write the report of a run, finished or not, and say where it lies.

    Raises:
        UserError: if the directory is of no training run.
    """
    path = write_report(read_left(given.run_directory))
    plain_console().print(f"Report  {path}", soft_wrap=True)
    return 0
