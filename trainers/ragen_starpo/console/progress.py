"""What commands that train print: a progress bar, held-out figures, and where the models are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from ragen_starpo.diagnostics.tensorboard import EventFiles


def progress_bar(console: Console) -> Progress:
    """Return a progress bar whose tasks have a field `status`, shown after their count."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[status]}"),
        TimeElapsedColumn(),
        console=console,
    )


def rollout_line(metrics: Mapping[str, float]) -> str:
    """Return success and reward of an iteration's rollouts."""
    return f"success {metrics['rollout/success']:.3f} reward {metrics['rollout/reward']:.2f}"


def validation_line(iteration: int, success: float) -> str:
    """Return the line of a validation.

    Args:
        iteration: that it came after, from 0 on.
        success: on the held-out instances.
    """
    return f"Iteration {iteration}: held-out success {success:.3f}"


def print_places(console: Console, run: Path) -> None:
    """Print where a run and its models are: `best/` only if there was a validation."""
    models = [str(run / name) for name in ("best", "final") if (run / name).is_dir()]
    console.print(f"Run     {run}", soft_wrap=True)
    console.print(f"Models  {', '.join(models)}", soft_wrap=True)


def event_files(run: Path) -> EventFiles:
    """Return the event files of a run, a context that writes into its folder.

    Args:
        run: its directory.
    """
    from ragen_starpo.diagnostics.tensorboard import EventFiles

    return EventFiles(run / "tensorboard")
