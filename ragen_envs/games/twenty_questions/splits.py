"""The words of each split, dealt category by category.

Within a category, a hash of the name orders the words. They are dealt from the top: a number to
val, as many to test, the rest to train. Three categories are held out as a whole: one half of each
is val and the other test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ragen_envs.core.instances import content_hash
from ragen_envs.games.twenty_questions.knowledge.loader import load

GAME = "twenty-questions"
PER_CATEGORY = 3
"""Number of words of each ordinary category in val, and in test."""
NEW_CATEGORIES = frozenset({"instruments", "professions", "reptiles_and_insects"})
"""Categories that are held out as a whole: things, people and animals."""


@dataclass(frozen=True, slots=True)
class Secret:
    """An instance: the secret word, which is the name of a concept."""

    word: str
    category: str

    @property
    def digest(self) -> str:
        return _digest(self.word)

    @property
    def part(self) -> str:
        return parts()[self.word]


def _digest(word: str) -> str:
    return content_hash(GAME, word.encode())


@cache
def parts() -> Mapping[str, str]:
    """Return the part of every word; "none" for a held-out category's odd last word."""
    dealt: dict[str, str] = {}
    for category, words in load().categories.items():
        ordered = sorted(words, key=_digest)
        new = category in NEW_CATEGORIES
        size = len(words) // 2 if new else PER_CATEGORY
        rest = "none" if new else "train"
        for place, word in enumerate(ordered):
            dealt[word] = "val" if place < size else "test" if place < 2 * size else rest
    return dealt


@cache
def secrets(new_categories: bool) -> tuple[Secret, ...]:
    """Return the words of a variant, in the order of the knowledge."""
    return tuple(
        Secret(name, concept.category)
        for name, concept in load().concepts.items()
        if (concept.category in NEW_CATEGORIES) == new_categories
        or (new_categories and parts()[name] == "train")
    )
