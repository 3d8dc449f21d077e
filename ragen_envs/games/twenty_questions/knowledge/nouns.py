"""Nouns of English, from WordNet: what an everyday noun is a kind of, and what it surely is not."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable

from ragen_envs.games.twenty_questions.knowledge.schema import Concept, Grade

_WIDE = "+"
# Of which of WordNet's classes a word may be, by the kinds that it is of.
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


@dataclass(frozen=True, slots=True)
class Nouns:
    """What WordNet says of nouns; scripts/build_nouns.py wrote it down.

    Attributes:
        above: the words of the game that are kinds of a noun.
        below: the words of the game that a noun is a kind of.
        classes: the classes of a noun, those that are wide with a "+".
    """

    above: Mapping[str, frozenset[str]] = field(default_factory=dict)
    below: Mapping[str, frozenset[str]] = field(default_factory=dict)
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __contains__(self, noun: str) -> bool:
        return noun in self.above or noun in self.below or noun in self.classes

    def is_apart(self, noun: str) -> bool:
        """Return whether no word is of this kind, nor a noun of a kind of a word."""
        wide = any(each.endswith(_WIDE) for each in self.classes.get(noun, ()))
        return not wide and noun not in self.above and noun not in self.below

    def grade(self, noun: str, concept: Concept) -> Grade | None:
        """Return whether a word is of the kind that a noun names, None where it is not known.

        "Some dolphin" stands for a noun that ends with "dolphin" and is not known.

        "Yes" is what WordNet says, "sometimes" what is a kind of the word ("poodle" of a dog). "No"
        takes a noun of another class, or one so narrow that WordNet names all of its kinds.
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


def read_nouns(folder: Traversable) -> Nouns:
    """Return the nouns in a folder with nouns.txt and related.toml."""
    related = tomllib.loads((folder / "related.toml").read_text("utf-8"))
    sides = {
        side: {noun: frozenset(words.split(", ")) for noun, words in nouns.items()}
        for side, nouns in related.items()
    }
    classes: dict[str, tuple[str, ...]] = {}
    for line in (folder / "nouns.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            kinds, _, nouns = line.partition(": ")
            classes.update(dict.fromkeys(nouns.split(", "), tuple(kinds.split())))
    return Nouns(sides["above"], sides["below"], classes)
