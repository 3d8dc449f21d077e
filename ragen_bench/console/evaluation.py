"""An evaluation as it is watched: how far it is, then the table and where everything is."""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from ragen_bench.console.plain import plain_console
from ragen_bench.console.progress import Pace, shortened, without_bar
from ragen_bench.console.results import show_results
from ragen_bench.episodes.evaluation import Evaluation, evaluate, refuse_early
from ragen_bench.episodes.groups import played_again, said_of_interrupted
from ragen_bench.errors import INCOMPLETE, INTERRUPTED
from ragen_bench.models import Model
from ragen_bench.opponents.opponent import load
from ragen_bench.pages.formats import short
from ragen_bench.runs.directory import RunDirectory, read_run
from ragen_bench.scores.cost import Prices

_WIDE = 110
"""Columns in which the name of the environment has room beside the bar."""


def run_evaluation(evaluation: Evaluation, path: Path, prices: Prices, quiet: bool) -> int:
    """Evaluate a model, print the table, and return the exit code.

    The exit code is 1 if a server left episodes unfinished.

    Args:
        evaluation: what is evaluated, and how.
        path: the run directory; an interrupted run there goes on.
        prices: of tokens.
        quiet: whether the path is all that is printed.

    Raises:
        UserError: if the directory holds something else, or the model cannot be loaded.
    """
    console = plain_console(quiet)
    model = load_early(console, evaluation, path)
    try:
        run = played(console, evaluation, model, path)
        try:
            summary = show_results(console, run, prices)
        finally:
            run.unlock()
    except KeyboardInterrupt:
        return interrupted(evaluation, model.group_size, path)
    if quiet:
        sys.stdout.write(f"{path}\n")
    return INCOMPLETE if summary["infra_faults"] else 0


def load_early(console: Console, evaluation: Evaluation, path: Path) -> Model:
    """Return an evaluation's model, once all is refused that can be without it.

    Args:
        console: where it says what it waits for.
        evaluation: what is evaluated.
        path: the run directory.

    Raises:
        UserError: if the directory holds something else, or the model cannot be loaded.
    """
    refuse_early(evaluation, path)
    with console.status(Text(f"Loading {evaluation.model} ...")):
        return load(
            evaluation.model,
            evaluation.server,
            evaluation.opponent,
            evaluation.random_player,
            evaluation.isolation,
        )


def played(console: Console, evaluation: Evaluation, model: Model, path: Path) -> RunDirectory:
    """Play what is missing of a run, and show how far it is.

    Args:
        console: where it is shown; a quiet one shows nothing.
        evaluation: what is evaluated.
        model: the evaluation's; with an opponent, the pair of them.
        path: the run directory.

    Returns:
        The directory, still locked.

    Raises:
        UserError: as `ragen_bench.episodes.evaluation.evaluate`.
    """
    total = len(evaluation.tasks())
    with _progress(console) as bar:
        name = shortened(evaluation.model, console.width)
        task = bar.add_task(name, total=total, said="")
        pace = Pace(total)
        tick = without_bar(console, total)

        def on_progress(episodes: int, answers: int, env: str, success: float | None) -> None:
            said = pace.said(episodes, success) or f"{answers} answers"
            room = console.width >= _WIDE
            bar.update(task, completed=episodes, said=f"{said} {short(env) if room else ''}")
            tick(episodes, answers, success)

        def on_message(line: str) -> None:
            bar.console.print(line, soft_wrap=True)

        try:
            return evaluate(evaluation, model, path, on_progress, on_message)
        except Exception:
            bar.live.transient = True  # the one line of the error says it all
            raise


def interrupted(evaluation: Evaluation, group_size: int, path: Path) -> int:
    """Say how far an interrupted run is, and what goes on with it; return the exit code.

    Args:
        evaluation: what is evaluated.
        group_size: of the model.
        path: the run directory, if there is one yet.
    """
    tasks = evaluation.tasks()
    begun = (path / "run.json").is_file()
    kept = {episode.key for episode in read_run(path).episodes()} if begun else set()
    again = played_again(tasks, group_size, kept)
    message = said_of_interrupted(len(kept), len(tasks), path, again)
    sys.stderr.write(f"\nragen-bench: interrupted; {message}\n")
    return INTERRUPTED


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=10),
        MofNCompleteColumn(),
        TextColumn("{task.fields[said]}", markup=False),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
    )
