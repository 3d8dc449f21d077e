"""The parts of the knowledge, as frozen dataclasses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

Toml: TypeAlias = dict[str, Any]
"""The contents of a TOML file or of one of its tables."""
Grade: TypeAlias = Literal["yes", "sometimes", "no"]
Levels: TypeAlias = tuple[int, int]
GRADES: tuple[Grade, ...] = ("no", "sometimes", "yes")
"""The grades, from the weakest."""
_WIDE = "+"
# Class in WordNet of the words of a kind.
_CLASSES = {
    "animal": "animal",
    "person": "person",
    "plant": "plant",
    "food": "food",
    "drink": "food",
    "body_part": "body",
    "object": "artifact",
    "place": "artifact",
    "nature": "nature",
}
# Words whose first sound is not that of their first letter.
_ARTICLES = {
    **dict.fromkeys(("uniform", "unicorn", "unicycle", "ukulele", "university"), "a"),
    **dict.fromkeys(("hour", "hourglass", "x-ray"), "an"),
}


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of concepts, in a group such as "ability" or "material"."""

    group: str
    ask: str  # canonical question, as of kinds and facts
    implies: tuple[str, ...] = ()  # features whose grade is at least as strong


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of things, whose members belong to its parents too, and sometimes to `partly`."""

    ask: str
    words: tuple[str, ...]  # its names, singular and plural
    parents: tuple[str, ...]
    partly: tuple[str, ...]
    grades: Mapping[str, Grade]  # default features of its members
    bounds: Mapping[str, Levels]  # lowest and highest level of its members, by scale


@dataclass(frozen=True, slots=True)
class Scale:
    """An ordinal scale."""

    asks: Mapping[str, str]  # canonical question of each relation, with braces for the reference
    levels: tuple[str, ...]  # meaning of each level, from level 1
    references: Mapping[str, int]  # levels of the objects of comparison
    asked: tuple[str, ...]  # references of the standard questions
    finer: Mapping[str, float]  # offset of words and references from the middle of their level


@dataclass(frozen=True, slots=True)
class Concept:
    """A word of the game; `kinds`, `partly` and `own` are those of its entry, not inherited."""

    name: str
    article: str  # "a", "an", "the", or "", as for "milk" and "scissors"
    aliases: tuple[str, ...]  # other names that win the game
    category: str  # file of the entry
    kinds: tuple[str, ...]
    partly: tuple[str, ...]
    own: Mapping[str, Grade]
    levels: Mapping[str, Levels]  # lowest and highest, by scale
    memberships: Mapping[str, Grade]  # all kinds to which it belongs, fully or partly
    grades: Mapping[str, Grade]  # all features that it has or sometimes has
    unknown: frozenset[str] = frozenset()  # features that it may have without naming them

    def grade(self, feature: str) -> Grade | None:
        """Return the grade of a feature, None if it is unknown."""
        return self.grades.get(feature) or (None if feature in self.unknown else "no")


@dataclass(frozen=True, slots=True)
class Fact:
    """A property that is known for some words only."""

    ask: str
    grades: Mapping[str, Grade]  # by word
    said: Mapping[str, tuple[str, ...]]  # phrases that ask for it, by slot of frames.toml


@dataclass(frozen=True, slots=True)
class Nouns:
    """English nouns in WordNet, written by scripts/build_nouns.py."""

    above: Mapping[str, frozenset[str]]  # words of the game that are kinds of a noun
    below: Mapping[str, frozenset[str]]  # words of the game of which a noun is a kind
    classes: Mapping[str, tuple[str, ...]]  # classes of a noun, with a "+" for wide ones

    def __contains__(self, noun: str) -> bool:
        return noun in self.above or noun in self.below or noun in self.classes

    def is_apart(self, noun: str) -> bool:
        """Return whether no word is of this kind, and the noun is not a kind of a word."""
        wide = any(each.endswith(_WIDE) for each in self.classes.get(noun, ()))
        return not wide and noun not in self.above and noun not in self.below

    def grade(self, noun: str, concept: Concept) -> Grade | None:
        """Return whether a word is of the kind of a noun, None if it is unknown.

        "Some dolphin" stands for an unknown noun that ends with "dolphin". "Yes" is what WordNet
        says, "sometimes" a kind of the word ("poodle" of a dog). "No" needs a noun of another
        class, or one so narrow that WordNet names all of its kinds.
        """
        if noun.startswith("some "):
            whole = noun.removeprefix("some ")
            if whole == concept.name:
                return "sometimes"
            grade = self.grade(whole, concept)
            return "no" if grade == "no" else None
        if noun == concept.name or concept.name in self.above.get(noun, ()):
            return "yes"
        if concept.name in self.below.get(noun, ()):
            return "sometimes"
        own = {_CLASSES[kind] for kind in concept.memberships if kind in _CLASSES}
        shared = [each for each in self.classes.get(noun, ()) if each.removesuffix(_WIDE) in own]
        return None if any(each.endswith(_WIDE) for each in shared) else "no"


@dataclass(frozen=True, eq=False)
class Knowledge:
    """The whole knowledge, in the order of the files. It is hashed by identity.

    Facts and nouns are read when they are first needed: an episode begins without them.
    """

    kinds: Mapping[str, Kind]
    features: Mapping[str, Feature]
    scales: Mapping[str, Scale]
    concepts: Mapping[str, Concept]
    read_facts: Callable[[], Mapping[str, Fact]]
    read_nouns: Callable[[], Nouns]

    @cached_property
    def facts(self) -> Mapping[str, Fact]:
        """The facts about the world by their keys."""
        return self.read_facts()

    @cached_property
    def nouns(self) -> Nouns:
        """The nouns that are not secret words."""
        return self.read_nouns()

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The names of the concepts, by category."""
        return {
            category: tuple(n for n, c in self.concepts.items() if c.category == category)
            for category in dict.fromkeys(c.category for c in self.concepts.values())
        }


def indefinite_article(noun: str) -> str:
    """Return "a" or "an", by the sound of the noun's first word."""
    first = noun.split()[0].lower()
    return _ARTICLES.get(first, "an" if first[0] in "aeiou" else "a")
