"""`view`: one page over all runs below a folder."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.groups import PlayedOptions
from ragen_bench.cli.options import Command
from ragen_bench.options.looks import Argument, Option


@dataclass(frozen=True, kw_only=True)
class View(PlayedOptions, Command):
    """Shows all runs below a folder on a page.

    Lists their figures, which follow a run while it is written, opens their reports and compares
    those that are ticked. Only this machine can open the page, and nothing is written.
    """

    folder: Annotated[Path, Argument("DIR", "with the runs")] = Path("runs")
    port: Annotated[int, Option("N", "of the page; 0 is a free one")] = 0

    def run(self) -> int:
        """Serve the page until Ctrl-C."""
        from ragen_bench.pages.view import ViewServer

        self.name_own()
        ViewServer(self.folder, self.port).serve(_announce)
        return 0


def _announce(url: str) -> None:
    sys.stdout.write(f"View at {url} - Ctrl-C ends.\n")
    sys.stdout.flush()
