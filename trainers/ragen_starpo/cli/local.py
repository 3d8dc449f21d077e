"""`local`: trains in this process, with a progress bar."""

from __future__ import annotations

import argparse
from contextlib import nullcontext

from ragen_bench.console.plain import plain_console
from ragen_starpo.cli.console import event_files, models, progress, validated
from ragen_starpo.cli.models import model_folder
from ragen_starpo.diagnostics.monitor import TrapWarning
from ragen_starpo.hardware import check_one_process
from ragen_starpo.local.train import train
from ragen_starpo.local.trainer import Iteration
from ragen_starpo.recipes.recipe import read_recipe


def run_local(given: argparse.Namespace) -> int:
    """Train by a recipe, print held-out figures as they come, and say where the models are.

    Raises:
        UserError: if anything that is named is not what it should be.
    """
    path, out = given.recipe, given.out
    recipe = read_recipe(path, given.settings)
    check_one_process(recipe.cluster)
    folder = model_folder(recipe.model)
    console = plain_console()
    bar = progress(console)
    board = event_files(out) if given.tensorboard else None
    with bar, board or nullcontext():
        task = bar.add_task(path.stem, total=recipe.iterations, said="")

        def told(iteration: Iteration) -> None:
            found = iteration.metrics
            if board:
                board.write(iteration.number, found, iteration.seconds)
            said = f"success {found['rollout/success']:.3f} reward {found['rollout/reward']:.2f}"
            bar.update(task, completed=iteration.number + 1, said=said)
            if "val/success" in found:
                bar.console.print(validated(iteration.number, found["val/success"]))

        def warned(warning: TrapWarning) -> None:
            bar.console.print(warning.text, soft_wrap=True)

        train(recipe, folder, out, told, warned)
    console.print(f"Run     {out}", soft_wrap=True)
    console.print(f"Models  {models(out)}", soft_wrap=True)
    return 0
