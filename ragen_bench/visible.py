"""Text that others wrote, made fit for a terminal."""

from __future__ import annotations

import unicodedata


def visible(text: str) -> str:
    """Show control characters, with which a text could repaint the terminal, as escapes.

    Args:
        text: anything; its lines stay lines, and spaces of any width and tabs what they are.
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    harmless = character.isprintable() or character in "\n\t"
    if harmless or unicodedata.category(character) == "Zs":
        return character
    return repr(character)[1:-1]
