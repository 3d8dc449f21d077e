"""Escaping of strangers' texts for links, lines and cells; templates escape markup themselves."""

from __future__ import annotations

import re
import unicodedata

_LINK = re.compile(r"https?://[A-Za-z0-9][!#-;=?-\[\]_a-z~]*").fullmatch
_FORMULA = tuple("=+-@\uff1d\uff0b\uff0d\uff20")
"""The last four are the full-width forms, which spreadsheets take for the others."""
_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def link(url: str | None) -> str | None:
    """Return an address that may stand in an anchor: of http or https, else None."""
    return url if url is not None and _LINK(url) else None


def shown(text: str) -> str:
    """Return a text in one line whose every character can be seen.

    Those that cannot, or that turn around what is near them, are shown by name: `⟨U+202E⟩`.
    """
    if text.isprintable():
        return text
    return "".join(f"⟨U+{ord(c):04X}⟩" if unicodedata.category(c) in _UNSEEN else c for c in text)


def shown_lines(text: str) -> str:
    """Return a text whose every character can be seen, see `shown`; its lines and tabs stay."""
    if text.isprintable():
        return text
    return "".join(part if part in "\n\t" else shown(part) for part in re.split(r"([\n\t])", text))


def csv_cell(value: str | float | None) -> str | float | None:
    """Return a cell that no spreadsheet takes for a formula: text that could be one gets a quote.

    Source: OWASP, CSV Injection. Numbers are left as they are.
    """
    if not isinstance(value, str):
        return value
    text = shown(value)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) else text
