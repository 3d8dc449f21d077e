"""`verl`: trains in many processes on one machine or more, with a progress bar."""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ragen_bench.console.plain import plain_console
from ragen_bench.runs.json_lines import numbered
from ragen_starpo.cli.console import event_files, models, progress, validated
from ragen_starpo.cli.models import model_folder
from ragen_starpo.engine.settings import OptimiserSettings
from ragen_starpo.recipes.recipe import Recipe, read_recipe

if TYPE_CHECKING:
    from ragen_starpo.diagnostics.tensorboard import EventFiles

_LOOK = 0.5
"""Seconds between two looks at what the run has written."""


def run_verl(given: argparse.Namespace) -> int:
    """Train by a recipe, print held-out figures as they come, and say where the models are.

    Raises:
        UserError: if anything that is named is not what it should be.
    """
    from ragen_starpo.cluster.train import device_of, train

    own, overrides = split_settings(given.settings)
    recipe = read_recipe(given.recipe, own)
    device_of(recipe, given.ray_address)  # before a model may be fetched
    folder = model_folder(recipe.model)
    console = plain_console()
    bar = progress(console)
    out = given.out
    board = event_files(out) if given.tensorboard else None
    with bar, board or nullcontext():
        task = bar.add_task(given.recipe.stem, total=recipe.iterations, said="starting Ray")

        def told(line: dict[str, Any]) -> None:
            said = f"success {line['rollout/success']:.3f} reward {line['rollout/reward']:.2f}"
            bar.update(task, completed=line["iteration"] + 1, said=said)
            if "val/success" in line:
                bar.console.print(validated(line["iteration"], line["val/success"]))

        def warned(line: dict[str, Any]) -> None:
            bar.console.print(line["text"], soft_wrap=True)

        def timed(line: dict[str, Any]) -> None:
            if board:
                write_events(board, out, line)

        followed = {"metrics": told, "warnings": warned, "timings": timed}
        with ExitStack() as following:
            for name, tell in followed.items():
                following.enter_context(Following(out / f"{name}.jsonl", tell))
            train(recipe, folder, out, overrides, given.ray_address)
    console.print(f"Run     {out}", soft_wrap=True)
    console.print(f"Models  {models(out)}", soft_wrap=True)
    return 0


def write_events(board: EventFiles, run: Path, timing: dict[str, Any]) -> None:
    """Write an iteration of a run as events.

    Args:
        board: the event files.
        run: its directory, whose `metrics.jsonl` holds the iteration.
        timing: its line of `timings.jsonl`, which is written behind that of the metrics.
    """
    number = timing["iteration"]
    lines = numbered(run / "metrics.jsonl")
    metrics = next(line for _, line in lines if line["iteration"] == number)
    board.write(number, _without_number(metrics), _without_number(timing))


def _without_number(line: dict[str, Any]) -> dict[str, float]:
    return {name: value for name, value in line.items() if name != "iteration"}


def split_settings(settings: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return which settings are the recipe's, and which are verl's.

    Both have a table `critic`; the recipe's has the settings of an optimiser.
    """
    own = {field.name for field in fields(Recipe)}
    of_critic = {field.name for field in fields(OptimiserSettings)}
    found: tuple[list[str], list[str]] = ([], [])
    for setting in settings:
        table, _, rest = setting.partition("=")[0].partition(".")
        of_verl = table not in own or (table == "critic" and rest not in of_critic)
        found[of_verl].append(setting)
    return found


class Following:
    """Tells of each whole line that is added to a file of lines while it is followed.

    Args:
        file: which need not be there yet.
        told: called with each line, in a thread of its own.
    """

    def __init__(self, file: Path, told: Callable[[dict[str, Any]], None]) -> None:
        self._file, self._told = file, told
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._known = sum(1 for _ in numbered(file))

    def __enter__(self) -> Following:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()

    def look(self) -> None:
        """Tell of what is new."""
        lines = [line for _, line in numbered(self._file)]
        # A resumed run drops what came after its checkpoint.
        self._known = min(self._known, len(lines))
        for line in lines[self._known :]:
            self._told(line)
        self._known = len(lines)

    def _follow(self) -> None:
        over = False
        while not over:
            over = self._over.wait(_LOOK)
            self.look()
