"""Text for a terminal: the one way to write it, with control characters of others escaped."""

from __future__ import annotations

import sys
import unicodedata


def visible(text: str) -> str:
    """Show control characters, which could repaint a terminal, as escapes; lines stay lines."""
    return text if text.isprintable() else "".join(map(_escape, text))


def write_out(text: str) -> None:
    """Write a text to the present standard output, made visible."""
    sys.stdout.write(visible(text))


def write_error(text: str) -> None:
    """Write a text to the present standard error, made visible."""
    sys.stderr.write(visible(text))


def _escape(character: str) -> str:
    harmless = character.isprintable() or character in "\n\t"
    if harmless or unicodedata.category(character) == "Zs":
        return character
    return repr(character)[1:-1]
