"""Text for terminals, with control characters of others escaped, and durations.

`ragen_envs.core.visible` has the same writers: importing that package takes as long as NumPy.
"""

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


_UNITS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"))


def format_duration(seconds: float) -> str:
    """Return a duration with its unit, to two digits or more; it is never zero."""
    for size, unit in _UNITS:
        if seconds >= 1.5 * size:
            count = seconds / size
            return f"{count:.2g} {unit}" if count < 10 else f"{count:,.0f} {unit}"
    return "1 ms at most"
