"""`evaluate`: scores a model."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ragen_bench.cli.shared_options import PriceOptions
from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import INCOMPLETE, INTERRUPTED, UserError
from ragen_bench.settings.options import MODELS, EvaluationOptions

if TYPE_CHECKING:
    from ragen_bench.episodes.evaluation import Evaluation


@dataclass(frozen=True, kw_only=True)
class Evaluate(EvaluationOptions, PriceOptions, Command):
    """Scores a model on held-out instances; the same command resumes an interrupted run."""

    model: Annotated[str, Argument("MODEL", MODELS)] = ""
    models: Annotated[
        Path | None, Option("FILE", "evaluate all models of a TOML file instead of MODEL")
    ] = None
    out: Annotated[Path | None, Option("DIR", "run directory (default: in runs/)")] = None
    quiet: Annotated[bool, Option(None, "print only the run directory")] = False

    def run(self) -> int:
        """Evaluate; return 1 if a server left episodes unfinished."""
        from ragen_bench.api import load_model, play_missing
        from ragen_bench.models.api.options import hide_headers
        from ragen_bench.scores.cost import load_prices
        from ragen_bench.settings.build import build_evaluation
        from ragen_bench.settings.run_names import default_path
        from ragen_bench.terminal.console import plain_console
        from ragen_bench.terminal.results import show_results

        if self.models is not None:
            return self._evaluate_models(self.models)
        if not self.model:
            raise UserError(
                "evaluate takes a MODEL, or --models FILE (try `ragen-bench evaluate --help`)"
            )
        command = shlex.join(hide_headers(["ragen-bench", *sys.argv[1:]], self.header))
        evaluation = build_evaluation(self, command)
        prices = load_prices(self.prices)
        path, console = self.out or default_path(evaluation), plain_console(self.quiet)
        model = load_model(console, evaluation, path)
        try:
            with play_missing(console, evaluation, model, path) as run:
                summary = show_results(console, run, prices)
        except KeyboardInterrupt:
            return report_interruption(evaluation, model.group_size, path)
        if self.quiet:
            sys.stdout.write(f"{path}\n")
        return INCOMPLETE if summary["infra_faults"] else 0

    def _evaluate_models(self, file: Path) -> int:
        from ragen_bench.cli.evaluate_models import evaluate_each, read_models

        for name in ("model", "out", "quiet"):
            if getattr(self, name):
                option = "MODEL" if name == "model" else f"--{name}"
                raise UserError(
                    f"{option} does not go with --models, which names the models and gives each "
                    "its own run; remove it"
                )
        return evaluate_each(read_models(file, self), self.prices)


def report_interruption(evaluation: Evaluation, group_size: int, path: Path) -> int:
    """Report the progress of an interrupted run and how to resume it; return the exit code.

    Args:
        evaluation: The evaluation.
        group_size: Group size of the model.
        path: Run directory, which may not exist yet.
    """
    from ragen_bench.episodes.groups import describe_interruption, played_again
    from ragen_bench.runs.directory import read_run

    tasks = evaluation.tasks()
    has_begun = (path / "run.json").is_file()
    recorded = {episode.key for episode in read_run(path).episodes()} if has_begun else set()
    again = played_again(tasks, group_size, recorded)
    message = describe_interruption(len(recorded), len(tasks), path, again)
    sys.stderr.write(f"\nragen-bench: interrupted; {message}\n")
    return INTERRUPTED
