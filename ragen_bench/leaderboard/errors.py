"""The error that says why an entry is refused."""

from __future__ import annotations


class EntryError(ValueError):
    """Something in an entry that ends its verification; the message says what, in one line."""
