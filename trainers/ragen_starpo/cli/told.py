"""What both drivers tell of a run on the console."""

from __future__ import annotations

from pathlib import Path


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
