"""`evaluate`: scores a model."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.groups import PriceOptions
from ragen_bench.cli.options import Command
from ragen_bench.options.groups import EvaluationOptions
from ragen_bench.options.looks import Option


@dataclass(frozen=True, kw_only=True)
class Evaluate(EvaluationOptions, PriceOptions, Command):
    """Scores a model on held-out instances; the same command resumes an interrupted run."""

    out: Annotated[Path | None, Option("DIR", "run directory (default: in runs/)")] = None
    quiet: Annotated[bool, Option(None, "print the run directory alone")] = False

    def run(self) -> int:
        """Evaluate; return 1 if a server left episodes unfinished."""
        from ragen_bench.console.evaluation import run_evaluation
        from ragen_bench.models.server.further import without_headers
        from ragen_bench.options.evaluation import evaluation_of
        from ragen_bench.options.naming import default_path
        from ragen_bench.scores.cost import load_prices

        command = shlex.join(without_headers(["ragen-bench", *sys.argv[1:]], self.header))
        evaluation = evaluation_of(self, command)
        prices = load_prices(self.prices)
        return run_evaluation(evaluation, self.out or default_path(evaluation), prices, self.quiet)
