"""What commands that train tell on the console."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from ragen_starpo.diagnostics.tensorboard import EventFiles


def progress(console: Console) -> Progress:
    """Return a progress bar whose tasks have a field `said`, shown behind their count."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[said]}"),
        TimeElapsedColumn(),
        console=console,
    )


def validated(iteration: int, success: float) -> str:
    """Return the line of a validation.

    Args:
        iteration: that it came after, from 0 on.
        success: on the held-out instances.
    """
    return f"Iteration {iteration}: held-out success {success:.3f}"


def models(run: Path) -> str:
    """Return where the models of a run are: `best/` only if there was a validation.

    Args:
        run: its directory.
    """
    there = [str(run / name) for name in ("best", "final") if (run / name).is_dir()]
    return ", ".join(there)


def event_files(run: Path) -> EventFiles:
    """Return the event files of a run, a context that writes into its folder.

    Args:
        run: its directory.
    """
    from ragen_starpo.diagnostics.tensorboard import EventFiles

    return EventFiles(run / "tensorboard")
