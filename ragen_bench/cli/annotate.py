"""`annotate`: blind ratings of trajectories, and how far the raters agree."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.options import Command
from ragen_bench.errors import UserError
from ragen_bench.options.looks import Argument, Option


@dataclass(frozen=True, kw_only=True)
class Annotate(Command):
    """Lets people rate trajectories blind, or says how far raters agree.

    Shows episodes without saying who played them, and keeps the ratings in each run's
    ratings.jsonl. Several runs are shuffled together.
    """

    runs: Annotated[tuple[Path, ...], Argument("RUN")]
    rater: Annotated[str | None, Option("NAME", "whose ratings they are")] = None
    count: Annotated[int, Option("N", "episodes")] = 30
    seed: Annotated[int, Option("N", "which episodes")] = 0
    browser: Annotated[bool, Option(None, "on a page in the browser, not in the terminal")] = False
    agreement: Annotated[bool, Option(None, "print the ratings and how far raters agree")] = False

    def run(self) -> int:
        """Let a rater rate, or print the agreement."""
        from ragen_bench.console.annotation import agreement, rate
        from ragen_bench.pages.annotation import Session
        from ragen_bench.runs.directory import read_run

        for directory in self.runs:
            read_run(directory)
        if self.agreement:
            sys.stdout.write(agreement(self.runs))
            return 0
        if self.rater is None:
            raise UserError("--rater NAME says whose ratings they are; or ask for --agreement")
        session = Session(self.runs, self.rater, self.count, self.seed)
        if self.browser:
            from ragen_bench.pages.annotation.server import AnnotationServer

            server = AnnotationServer(session)
            server.serve(lambda url: sys.stdout.write(f"Rate at {url} - Ctrl-C ends.\n"))
        else:
            rate(session)
        return 0
