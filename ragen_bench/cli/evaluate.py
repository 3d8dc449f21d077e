"""`evaluate`: scores a model."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.groups import PriceOptions
from ragen_bench.cli.options import Command
from ragen_bench.errors import UserError
from ragen_bench.options.groups import MODELS, EvaluationOptions
from ragen_bench.options.looks import Argument, Option


@dataclass(frozen=True, kw_only=True)
class Evaluate(EvaluationOptions, PriceOptions, Command):
    """Scores a model on held-out instances; the same command resumes an interrupted run."""

    model: Annotated[str, Argument("MODEL", MODELS)] = ""
    models: Annotated[
        Path | None, Option("FILE", "in place of MODEL: evaluate all models of a TOML file")
    ] = None
    out: Annotated[Path | None, Option("DIR", "run directory (default: in runs/)")] = None
    quiet: Annotated[bool, Option(None, "print the run directory alone")] = False

    def run(self) -> int:
        """Evaluate; return 1 if a server left episodes unfinished."""
        from ragen_bench.console.evaluation import run_evaluation
        from ragen_bench.models.api.further import without_headers
        from ragen_bench.options.evaluation import evaluation_of
        from ragen_bench.options.naming import default_path
        from ragen_bench.scores.cost import load_prices

        if self.models is not None:
            return self._each(self.models)
        if not self.model:
            raise UserError(
                "evaluate takes a MODEL, or --models FILE (try `ragen-bench evaluate --help`)"
            )
        command = shlex.join(without_headers(["ragen-bench", *sys.argv[1:]], self.header))
        evaluation = evaluation_of(self, command)
        prices = load_prices(self.prices)
        return run_evaluation(evaluation, self.out or default_path(evaluation), prices, self.quiet)

    def _each(self, file: Path) -> int:
        """Evaluate the models of a file."""
        from ragen_bench.console.several import evaluate_each
        from ragen_bench.options.several import models_of

        for name in ("model", "out", "quiet"):
            if getattr(self, name):
                what = "MODEL" if name == "model" else f"--{name}"
                raise UserError(
                    f"leave {what} out: --models names the models, and each has a run of its own"
                )
        return evaluate_each(models_of(file, self), self.prices)
