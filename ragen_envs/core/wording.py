"""Numbers with nouns, for the texts of games."""

from __future__ import annotations


def pluralize(number: int, noun: str) -> str:
    """Return a number with its noun: "1 turn", "2 turns"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
