"""The demo as it is watched: a bar for each player, then one table, and where everything is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ragen_bench.console.evaluation import interrupted, load_early, played
from ragen_bench.console.plain import plain_console
from ragen_bench.console.results import write_results
from ragen_bench.console.summary import players_table
from ragen_bench.episodes.evaluation import Evaluation
from ragen_bench.scores.cost import Prices


def show_demo(runs: Sequence[tuple[Evaluation, Path]], prices: Prices) -> int:
    """Play what is missing of some runs, print their table, and return the exit code.

    Args:
        runs: what is evaluated, and the run directories; the first has all environments.
        prices: of tokens.

    Raises:
        UserError: if a directory holds something else, or a model cannot be loaded.
    """
    console = plain_console()
    summaries, lines = [], []
    for evaluation, path in runs:
        model = load_early(console, evaluation, path)
        try:
            run = played(console, evaluation, model, path)
            try:
                summary, report = write_results(console, run, prices)
            finally:
                run.unlock()
        except KeyboardInterrupt:
            return interrupted(evaluation, model.group_size, path)
        summaries.append(summary)
        lines += [f"Run     {path}", f"Report  {report}"]
    console.print(players_table(summaries))
    for line in lines:
        console.print(line, soft_wrap=True)
    return 0
