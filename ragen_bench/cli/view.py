"""`view`: one page over all runs below a folder."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.shared_options import ReplayOptions
from ragen_bench.command_line import Argument, Command, Option


@dataclass(frozen=True, kw_only=True)
class View(ReplayOptions, Command):
    """Shows all runs below a folder on a page.

    Lists their metrics, which are updated while a run is written, opens their reports and compares
    the ticked ones. Only this machine can open the page, and nothing is written.
    """

    folder: Annotated[Path, Argument("DIR", "folder of the runs")] = Path("runs")
    port: Annotated[int, Option("N", "port of the page; 0 is a free one")] = 0

    def run(self) -> int:
        """Serve the page until Ctrl-C."""
        from ragen_bench.pages.view import ViewServer

        self.import_named()
        ViewServer(self.folder, self.port).serve(_print_address)
        return 0


def _print_address(url: str) -> None:
    sys.stdout.write(f"View at {url} - Ctrl-C ends.\n")
    sys.stdout.flush()
