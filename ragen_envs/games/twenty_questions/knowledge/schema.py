"""The parts of the knowledge, as frozen dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Grade: TypeAlias = Literal["yes", "sometimes", "no"]
Levels: TypeAlias = tuple[int, int]
GRADES: tuple[Grade, ...] = ("no", "sometimes", "yes")
"""From the weakest."""


@dataclass(frozen=True, slots=True)
class Feature:
    """Something that a concept may have.

    Attributes:
        group: such as "ability" or "material".
        ask: the canonical question.
        implies: features that go with it, at least as much.
    """

    group: str
    ask: str
    implies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of things.

    Attributes:
        ask: the canonical question.
        words: how people name it, singular and plural.
        parents: the kinds that its members are of too.
        partly: the kinds that its members are sometimes of.
        grades: what members have, unless they say otherwise.
        bounds: by scale, the levels that members may have.
    """

    ask: str
    words: tuple[str, ...]
    parents: tuple[str, ...]
    partly: tuple[str, ...]
    grades: Mapping[str, Grade]
    bounds: Mapping[str, Levels]


@dataclass(frozen=True, slots=True)
class Scale:
    """An ordinal scale.

    Attributes:
        asks: the canonical question of each relation, with braces for what is compared with.
        levels: what each level means, from level 1.
        references: the levels of what people compare with.
        asked: the references of the standard questions.
        finer: of words and references, how far from the middle of their level they are.
    """

    asks: Mapping[str, str]
    levels: tuple[str, ...]
    references: Mapping[str, int]
    asked: tuple[str, ...]
    finer: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Concept:
    """A word of the game and what is known of it.

    Attributes:
        name: the word, without an article.
        article: "a", "an", "the", or nothing, as for "milk" and "scissors".
        aliases: other names that win the game.
        category: the file it stands in.
        kinds: what it says it is.
        partly: what it says it sometimes is.
        own: what it says of features, before anything is inherited.
        levels: by scale, the lowest and the highest level.
        memberships: all kinds that it is of or partly of.
        grades: all features that it has or sometimes has.
        unknown: the features that it does not name and whose absence is not certain.
    """

    name: str
    article: str
    aliases: tuple[str, ...]
    category: str
    kinds: tuple[str, ...]
    partly: tuple[str, ...]
    own: Mapping[str, Grade]
    levels: Mapping[str, Levels]
    memberships: Mapping[str, Grade]
    grades: Mapping[str, Grade]
    unknown: frozenset[str] = frozenset()

    def grade(self, feature: str) -> Grade | None:
        """Return the grade of a feature, None where it is not known."""
        return self.grades.get(feature) or (None if feature in self.unknown else "no")


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is known of some words, and not of all.

    Attributes:
        ask: the canonical question.
        grades: of each word of which it is known.
        said: by slot of frames.toml, what people say for it.
    """

    ask: str
    grades: Mapping[str, Grade]
    said: Mapping[str, tuple[str, ...]]


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


@dataclass(frozen=True, slots=True)
class Rules:
    """What the entries have to agree with.

    Attributes:
        excludes: by feature or kind, the features and kinds that nothing has beside it.
        only: by feature, the kinds that alone may have it.
        facts: by fact, the facts, features and kinds that go with it.
        apart: by fact, the facts and features that nothing has beside it.
    """

    excludes: Mapping[str, tuple[str, ...]]
    only: Mapping[str, tuple[str, ...]]
    facts: Mapping[str, tuple[str, ...]]
    apart: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Everything that is known, in the order of the files.

    Attributes:
        kinds: by key.
        features: by key.
        scales: by key.
        concepts: by name.
        rules: what the entries have to agree with.
        facts: by key.
        nouns: what nouns of English are, and which words are kinds of them.
    """

    kinds: Mapping[str, Kind]
    features: Mapping[str, Feature]
    scales: Mapping[str, Scale]
    concepts: Mapping[str, Concept]
    rules: Rules
    facts: Mapping[str, Fact]
    nouns: Nouns

    @property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """The names of each category's concepts."""
        return {
            category: tuple(n for n, c in self.concepts.items() if c.category == category)
            for category in dict.fromkeys(c.category for c in self.concepts.values())
        }


# Spelled with a vowel but said with "y", or the other way round.
_SAID_OTHERWISE = {
    "uniform": "a",
    "unicorn": "a",
    "unicycle": "a",
    "ukulele": "a",
    "university": "a",
    "hour": "an",
    "hourglass": "an",
    "x-ray": "an",
}


def indefinite_article(noun: str) -> str:
    """Return "a" or "an", by how the noun's first word is said."""
    first = noun.split()[0].lower()
    return _SAID_OTHERWISE.get(first, "an" if first[0] in "aeiou" else "a")
