"""`evaluate`, `doctor` and `demo`: score a model, check it before, and show two in one table."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from ragen_bench.cli.shared_options import JsonOptions, PriceOptions
from ragen_bench.command_line import Argument, Command, Option, make_parser
from ragen_bench.errors import INCOMPLETE, INTERRUPTED, UserError
from ragen_bench.settings.options import MODELS, EvaluationOptions
from ragen_bench.visible import visible, write_error, write_out

if TYPE_CHECKING:
    from ragen_bench.episodes.evaluation import Evaluation
    from ragen_bench.json_types import JsonObject


@dataclass(frozen=True, kw_only=True)
class _ModelsOptions:
    heading = "what to play"

    models: Annotated[
        Path | None, Option("FILE", "evaluate all models of a TOML file instead of MODEL")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Evaluate(JsonOptions, PriceOptions, _ModelsOptions, EvaluationOptions, Command):
    """Scores a model on held-out instances; the same command resumes an interrupted run."""

    heading = "output"
    examples: ClassVar[tuple[str, ...]] = (
        "ragen-bench evaluate smollm2-135m --suite quick",
        "ragen-bench evaluate openai/NAME --base-url http://localhost:8000/v1 --env Sokoban-v0",
    )
    others: ClassVar[Mapping[str, str]] = {
        "tasks": "--env or --suite",
        "model-args": "evaluate hf/NAME, or openai/NAME --base-url URL",
        "gen-kwargs": "--temperature or --max-tokens",
        "batch-size": "--concurrency",
        "max-connections": "--concurrency",
        "epochs": "--samples",
        "num-fewshot": "all prompts have one example of the form, and no other shots.",
        "apply-chat-template": "the chat template is always applied.",
        "device": "hf/ uses the GPU if there is one; CUDA_VISIBLE_DEVICES= hides it.",
        "log-samples": "each response is in RUN/episodes.jsonl.",
        "output-path": "--out",
        "log-dir": "--out",
    }

    model: Annotated[str, Argument("MODEL", MODELS)] = ""
    out: Annotated[Path | None, Option("DIR", "run directory (default: in runs/)")] = None
    quiet: Annotated[bool, Option(None, "print only the run directory")] = False

    def run(self) -> int:
        """Evaluate; return 1 if a server left episodes unfinished."""
        with self.output() as content:
            return self._evaluate(content)

    def _evaluate(self, content: JsonObject) -> int:
        from ragen_bench.api import load_model, play_missing
        from ragen_bench.models.api.options import hide_headers
        from ragen_bench.scores.cost import load_prices
        from ragen_bench.settings.build import build_evaluation
        from ragen_bench.settings.run_names import default_path
        from ragen_bench.terminal.console import plain_console
        from ragen_bench.terminal.results import show_results

        if self.models is not None:
            for name in ("model", "out", "quiet"):
                if getattr(self, name):
                    option = "MODEL" if name == "model" else f"--{name}"
                    raise UserError(
                        f"{option} does not go with --models, which names the models and gives "
                        "each its own run; remove it"
                    )
            from ragen_bench.cli.evaluate_models import evaluate_each, read_models

            return evaluate_each(read_models(self.models, self), self.prices, content)
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
                summary, report = show_results(console, run, prices)
        except KeyboardInterrupt:
            return report_interruption(evaluation, model.group_size, path)
        content.update(run=str(path), report=str(report), **summary)
        if self.quiet and not self.prints_json:
            write_out(f"{path}\n")
        return INCOMPLETE if summary["infra_faults"] else 0


def report_interruption(evaluation: Evaluation, group_size: int, path: Path) -> int:
    """Report an interrupted run's progress and how to resume it; return the exit code."""
    from ragen_bench.episodes.runner import describe_interruption, played_again
    from ragen_bench.runs.directory import read_run

    tasks = evaluation.tasks()
    has_begun = (path / "run.json").is_file()
    recorded = {episode.key for episode in read_run(path).episodes()} if has_begun else set()
    again = played_again(tasks, group_size, recorded)
    message = describe_interruption(len(recorded), len(tasks), path, again)
    write_error(f"\nragen-bench: interrupted; {message}\n")
    return INTERRUPTED


@dataclass(frozen=True, kw_only=True)
class Doctor(JsonOptions, EvaluationOptions, Command):
    """Checks a model before a long run.

    Takes the options of `evaluate`. Checks whether the oracle reaches its optimal score, and
    whether the model is there, responds, keeps the format, stops, respects its token limit and
    repeats itself. Ends with exit code 1 if the run would break.
    """

    heading = "what to play"

    questions: Annotated[int, Option("N", "number of first turns to play")] = 8

    def run(self) -> int:
        """Print the findings as they come; return 1 if the run would break."""
        from ragen_bench.audit.doctor import examine
        from ragen_bench.settings.build import build_evaluation

        if self.questions < 1:
            raise UserError(f"--questions must be at least 1, got {self.questions}")
        evaluation = build_evaluation(self)
        if evaluation.split == "drawn":
            raise UserError("doctor plays instances of val or test; remove --split and --draw")
        with self.output() as content:
            content["findings"] = []
            for finding in examine(evaluation, self.questions):
                detail = visible(finding.detail)
                write_out(f"{finding.status:<5} {finding.name:<9} {detail}\n")
                sys.stdout.flush()
                content["findings"].append(finding._asdict())
            content["failed"] = any(each["status"] == "FAIL" for each in content["findings"])
        return 1 if content["failed"] else 0


PLAYERS = (
    "evaluate smollm2-135m --suite quick",
    # The same instances of the two games that it was trained on.
    "evaluate demo-agent --env Sokoban-v0 --env FrozenLake-v0 --limit 16",
)
"""The commands whose runs the demo shows, without the program's name."""


@dataclass(frozen=True, kw_only=True)
class Demo(Command):
    """Lets a language model and a small trained agent play the suite quick.

    One table shows both between the random player and the oracle. Their runs are those of two
    `evaluate` commands, with a report each. The same command resumes an interrupted one.
    """

    extra: ClassVar[str] = "hf"

    def run(self) -> int:
        """Play the missing episodes of both runs, and print the table."""
        from ragen_bench.api import load_model, play_missing
        from ragen_bench.scores.cost import load_prices
        from ragen_bench.settings.run_names import default_path
        from ragen_bench.terminal.console import plain_console
        from ragen_bench.terminal.results import players_table, write_results

        prices, console = load_prices(), plain_console()
        evaluations = [_build_evaluation(shlex.split(words)) for words in PLAYERS]
        summaries, lines = [], []
        for evaluation in evaluations:
            path = default_path(evaluation)
            model = load_model(console, evaluation, path)
            try:
                with play_missing(console, evaluation, model, path) as run:
                    summary, report = write_results(console, run, prices)
            except KeyboardInterrupt:
                return report_interruption(evaluation, model.group_size, path)
            summaries.append(summary)
            lines.append(f"Report  {report}")
        console.print(players_table(summaries))
        for line in lines:
            console.print(line, soft_wrap=True)
        return 0


def _build_evaluation(words: Sequence[str]) -> Evaluation:
    from ragen_bench.settings.build import build_evaluation

    options = make_parser("ragen-bench", "", {"evaluate": Evaluate}).parse(words)
    return build_evaluation(cast(Evaluate, options), shlex.join(["ragen-bench", *words]))
