"""The error that refuses an entry."""

from __future__ import annotations


class EntryError(ValueError):
    """An entry is refused. Each argument is one reason, in one line."""
