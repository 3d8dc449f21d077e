"""Markdown: the one way to write a text of others into it, in tables, links, bold and code."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragen_bench.escaping import escape_invisible

_ENTITIES = {c: f"&#{ord(c)};" for c in "\\`*[]{}~$@^"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# A pipe ends a table's cell even as an entity in some readers, but not behind a backslash.
_ENTITIES["|"] = "\\|"
_SPECIAL = re.compile(
    r"[\\`*\[\]{}~$@^&<>|]|(?<![^\W_])_|_(?![^\W_])|\+(?=\+)|=(?==)|://|www\."
    r"|^[-+](?=\s|$)|^[#!]|^\d(?=\d*[.)](?:\s|$))"
)
"""Characters with a meaning; an underscore within a word and most of punctuation have none."""


class Markdown(str):
    """A text that is Markdown already."""

    __slots__ = ()


def escape_markdown(text: str) -> Markdown:
    """Return a text of others in one line, which Markdown shows as it is."""
    if isinstance(text, Markdown):
        return text
    line = escape_invisible(" ".join(text.split()))
    return Markdown(_SPECIAL.sub(lambda found: _escape(found[0]), line))


def bold(text: str) -> Markdown:
    """Return a text of others in bold."""
    return Markdown(f"**{escape_markdown(text)}**")


def link(text: str, target: str) -> Markdown:
    """Return a link with a text of others to an address of one's own."""
    return Markdown(f"[{escape_markdown(text)}]({target})")


def code(text: str) -> Markdown:
    """Return a text of others as code, within a line."""
    line = escape_invisible(" ".join(text.split())).replace("|", "\\|")
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    gap = " " if "`" in line else ""
    return Markdown(f"{fence}{gap}{line}{gap}{fence}")


def make_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], rules: Sequence[str] = ()
) -> str:
    """Return a table; cells that are not `Markdown` are escaped. `rules` align the columns."""
    lines = [
        map(escape_markdown, columns),
        rules or ["---"] * len(columns),
        *(map(escape_markdown, row) for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escape(found: str) -> str:
    if found in ("://", "www."):  # readers make links of bare addresses
        return found.replace(":", "&#58;").replace(".", "&#46;")
    return _ENTITIES.get(found) or f"&#{ord(found)};"
