"""`demo`: a language model and a trained agent, compared in one table."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from ragen_bench.cli.evaluate import Evaluate, report_interruption
from ragen_bench.command_line import Command, make_parser

if TYPE_CHECKING:
    from ragen_bench.episodes.evaluation import Evaluation

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
            lines += [f"Run     {path}", f"Report  {report}"]
        console.print(players_table(summaries))
        for line in lines:
            console.print(line, soft_wrap=True)
        return 0


def _build_evaluation(words: Sequence[str]) -> Evaluation:
    from ragen_bench.settings.build import build_evaluation

    options = make_parser("ragen-bench", "", {"evaluate": Evaluate}).parse(words)
    return build_evaluation(cast(Evaluate, options), shlex.join(["ragen-bench", *words]))
