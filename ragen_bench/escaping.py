"""Escapes untrusted texts for links, lines and CSV cells; templates escape markup themselves."""

from __future__ import annotations

import re
import unicodedata
from html import escape

_LINK = re.compile(r"https?://[A-Za-z0-9][!#-;=?-\[\]_a-z~]*").fullmatch
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
"""Characters that begin a formula; spreadsheets read the last four, full-width forms, alike."""
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def link(url: str | None) -> str | None:
    """Return the URL if it is a plain http or https address, else None."""
    return url if url is not None and _LINK(url) else None


def escape_invisible(text: str) -> str:
    """Return a text in one line, with invisible characters in the form `⟨U+202E⟩`."""
    if text.isprintable():
        return text
    return "".join(
        f"⟨U+{ord(c):04X}⟩" if unicodedata.category(c) in _INVISIBLE else c for c in text
    )


def escape_html(text: str) -> str:
    """Return a text of others in one line for HTML or SVG, where no template escapes it."""
    return escape(escape_invisible(text))


def escape_invisible_lines(text: str) -> str:
    """Return a text with only visible characters, lines and tabs, see `escape_invisible`."""
    if text.isprintable():
        return text
    return "".join(
        part if part in "\n\t" else escape_invisible(part) for part in re.split(r"([\n\t])", text)
    )


def escape_csv_cell(value: str | float | None) -> str | float | None:
    """Quote text that spreadsheets would run as a formula (OWASP, CSV Injection)."""
    if not isinstance(value, str):
        return value
    text = escape_invisible(value)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
