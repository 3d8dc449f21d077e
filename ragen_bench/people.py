"""People as players: the names of their runs, and their own."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ragen_bench.lookalikes import HIDDEN, find_lookalike

PREFIX = "human:"
"""Prefix of the model's name in the runs that people play."""
SKIPPED = "skipped by the player"
"""Reason of an episode that a person gave up."""
_LONGEST = 100


def is_human(model: str) -> bool:
    """Return whether people play as this model."""
    return model.startswith(PREFIX)


def find_name_problem(name: str) -> str:
    """Return why a text cannot name a person or a group, as the end of a sentence, or ""."""
    if not name or name != name.strip():
        return "is empty, or begins or ends with a space"
    if len(name) > _LONGEST:
        return f"has more than {_LONGEST} characters"
    if ":" in name:
        return "has a colon"
    return "has invisible characters" if re.search(HIDDEN, name) else find_lookalike(name)


def describe_people(people: int) -> str:
    """Return a number of people in words, to stand after a name; "" for 0."""
    return f" ({people:,} {'person' if people == 1 else 'people'})" if people else ""


def count_people(players: Iterable[str]) -> int:
    """Return the number of distinct people; upper and lower case are equal."""
    return len({player.casefold() for player in players if player})
