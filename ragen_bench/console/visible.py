"""Text that others wrote, made fit for a terminal."""

from __future__ import annotations


def visible(text: str) -> str:
    """Show control characters, with which a text could repaint the terminal, as escapes.

    Args:
        text: anything; its lines stay lines.
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)
