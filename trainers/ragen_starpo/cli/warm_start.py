"""`warm-start`: supervised training on the oracle's episodes."""

from __future__ import annotations

import argparse

from ragen_bench.console.plain import plain_console
from ragen_starpo.cli.models import model_folder
from ragen_starpo.warm_start import Epoch, WarmStart, warm_start


def run_warm_start(given: argparse.Namespace) -> int:
    """Train, and print the loss of each epoch.

    Raises:
        UserError: if anything that is named is not what it should be.
    """
    settings = WarmStart(
        envs=tuple(given.env),
        response_format=given.format,
        episodes=given.episodes,
        epochs=given.epochs,
        batch=given.batch,
        micro_batch=given.micro_batch,
        learning_rate=given.learning_rate,
        max_tokens=given.max_tokens,
        validate_every=given.validate_every,
        val_instances=given.val_instances,
        seed=given.seed,
    )
    console = plain_console()
    console.print(f"{settings.episodes} episodes of the oracle, {settings.epochs} epochs")
    warm_start(
        settings,
        model_folder(given.model),
        given.out,
        lambda epoch: console.print(_line(epoch)),
    )
    console.print(f"Model  {given.out}", soft_wrap=True)
    return 0


def _line(epoch: Epoch) -> str:
    said = f"epoch {epoch.number:>3}  loss {epoch.loss:.4f}"
    return said if epoch.success is None else f"{said}  held-out success {epoch.success:.3f}"
