"""The words of each split, which are dealt category by category.

Within a category the words are ordered by a hash of their names, which nothing but the name
decides, and dealt from the top: so many to val, as many to test, the rest to train. Three
categories are held out as a whole: of them, one half is val and the other one test.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ragen_envs.core.instances import content_hash
from ragen_envs.games.twenty_questions.knowledge.loader import load

GAME = "twenty-questions"
PER_CATEGORY = 3
"""Words of each ordinary category in val, and as many in test."""
NEW_CATEGORIES = frozenset({"instruments", "professions", "reptiles_and_insects"})
"""Held out as a whole: things, people and animals."""


@dataclass(frozen=True, slots=True)
class Secret:
    """An instance: the word to find.

    Attributes:
        word: the name of a concept.
        category: the category that it is dealt in.
    """

    word: str
    category: str

    @property
    def digest(self) -> str:
        """The content hash."""
        return _digest(self.word)

    @property
    def part(self) -> str:
        """The part that the word belongs to: "train", "val" or "test", or "none"."""
        return parts()[self.word]


def _digest(word: str) -> str:
    return content_hash(GAME, word.encode())


@cache
def parts() -> Mapping[str, str]:
    """Return the part of every word.

    It is "none" where a category that is held out has an odd number of words, for its last one.
    """
    dealt: dict[str, str] = {}
    for category, words in load().categories.items():
        ordered = sorted(words, key=_digest)
        new = category in NEW_CATEGORIES
        share = len(words) // 2 if new else PER_CATEGORY
        rest = "none" if new else "train"
        for place, word in enumerate(ordered):
            dealt[word] = "val" if place < share else "test" if place < 2 * share else rest
    return dealt


@cache
def secrets(new_categories: bool) -> tuple[Secret, ...]:
    """Return the words of a variant, in the order of the knowledge.

    Args:
        new_categories: whether its val and test are of the categories that are held out; its
            train is that of the others.
    """
    return tuple(
        Secret(name, concept.category)
        for name, concept in load().concepts.items()
        if (concept.category in NEW_CATEGORIES) == new_categories
        or (new_categories and parts()[name] == "train")
    )
