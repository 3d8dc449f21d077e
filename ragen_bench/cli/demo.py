"""`demo`: a language model and a trained agent, beside each other."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from ragen_bench.cli.evaluate import Evaluate
from ragen_bench.cli.options import Command
from ragen_bench.cli.parser import make_parser

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
    `evaluate` commands, with a report each. The same command goes on with what was interrupted.
    """

    extra: ClassVar[str] = "hf"

    def run(self) -> int:
        """Play what is missing of both runs, and print the table."""
        from ragen_bench.console.demo import show_demo
        from ragen_bench.options.naming import default_path
        from ragen_bench.scores.cost import load_prices

        evaluations = [_evaluation(shlex.split(words)) for words in PLAYERS]
        return show_demo([(each, default_path(each)) for each in evaluations], load_prices())


def _evaluation(words: Sequence[str]) -> Evaluation:
    """Return the evaluation of a command, which is the run's in the record too."""
    from ragen_bench.options.evaluation import evaluation_of

    options = make_parser("ragen-bench", "", {"evaluate": Evaluate}).parse(words)
    return evaluation_of(cast(Evaluate, options), shlex.join(["ragen-bench", *words]))
