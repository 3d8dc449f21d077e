"""A console that prints names and paths as they are."""

from __future__ import annotations

from rich.console import Console


def plain_console(quiet: bool = False) -> Console:
    """Return a console that reads no markup, so that brackets and colons stay in names.

    Args:
        quiet: whether nothing is shown.
    """
    return Console(markup=False, highlight=False, emoji=False, quiet=quiet)
