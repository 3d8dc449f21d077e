"""Training in this process, with a progress bar."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from ragen_bench.console.plain import plain_console
from ragen_starpo.console.progress import (
    event_files,
    print_places,
    progress_bar,
    rollout_line,
    validation_line,
)
from ragen_starpo.diagnostics.monitor import TrapWarning
from ragen_starpo.local.train import train
from ragen_starpo.local.trainer import Iteration
from ragen_starpo.recipes.recipe import Recipe


def train_with_progress(
    name: str, recipe: Recipe, model: Path, out: Path, tensorboard: bool
) -> None:
    """Train by a recipe, print held-out figures as they come, and say where the models are.

    Args:
        name: of the recipe, which stands beside the bar.
        recipe: by which it is trained.
        model: folder of the model that training begins with.
        out: directory of the run.
        tensorboard: whether event files are written.
    """
    bar = progress_bar(plain_console())
    events = event_files(out) if tensorboard else None
    with bar, events or nullcontext():
        task = bar.add_task(name, total=recipe.iterations, status="")

        def on_iteration(iteration: Iteration) -> None:
            metrics = iteration.metrics
            if events:
                events.write(iteration.number, metrics, iteration.seconds)
            bar.update(task, completed=iteration.number + 1, status=rollout_line(metrics))
            if "val/success" in metrics:
                bar.console.print(validation_line(iteration.number, metrics["val/success"]))

        def on_warning(warning: TrapWarning) -> None:
            bar.console.print(warning.text, soft_wrap=True)

        train(recipe, model, out, on_iteration, on_warning)
    print_places(bar.console, out)
