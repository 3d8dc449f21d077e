"""A console that prints names and paths as they are."""

from __future__ import annotations

from rich.console import Console


def plain_console() -> Console:
    """Return a console that reads no markup, so that brackets and colons stay in names."""
    return Console(markup=False, highlight=False, emoji=False)
