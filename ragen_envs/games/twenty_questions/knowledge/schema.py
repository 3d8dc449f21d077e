"""The parts of the knowledge, as frozen dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Grade: TypeAlias = Literal["yes", "sometimes", "no"]
Levels: TypeAlias = tuple[int, int]
GRADES: tuple[Grade, ...] = ("no", "sometimes", "yes")
"""The grades, from the weakest."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature of concepts.

    Attributes:
        group: Group such as "ability" or "material".
        ask: Canonical question.
        implies: Features whose grade is at least as strong.
    """

    group: str
    ask: str
    implies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of things.

    Attributes:
        ask: Canonical question.
        words: Names of the kind, singular and plural.
        parents: Kinds to which its members belong too.
        partly: Kinds to which its members sometimes belong.
        grades: Default features of its members.
        bounds: Lowest and highest level of its members, by scale.
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
        asks: Canonical question of each relation, with braces for the reference.
        levels: Meaning of each level, from level 1.
        references: Levels of the objects of comparison.
        asked: References of the standard questions.
        finer: Offset of words and references from the middle of their level.
    """

    asks: Mapping[str, str]
    levels: tuple[str, ...]
    references: Mapping[str, int]
    asked: tuple[str, ...]
    finer: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Concept:
    """A word of the game, with its properties.

    Attributes:
        name: The word, without an article.
        article: "a", "an", "the", or "", as for "milk" and "scissors".
        aliases: Other names that win the game.
        category: File of the entry.
        kinds: Kinds named in the entry.
        partly: Kinds named in the entry as partial.
        own: Features named in the entry, without inherited ones.
        levels: Lowest and highest level, by scale.
        memberships: All kinds to which it belongs, fully or partly.
        grades: All features that it has or sometimes has.
        unknown: Features that it does not name and whose absence is uncertain.
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
        """Return the grade of a feature, None if it is unknown."""
        return self.grades.get(feature) or (None if feature in self.unknown else "no")


@dataclass(frozen=True, slots=True)
class Fact:
    """A property that is known for some words only.

    Attributes:
        ask: Canonical question.
        grades: Grade of each word for which it is known.
        said: Phrases that ask for it, by slot of frames.toml.
    """

    ask: str
    grades: Mapping[str, Grade]
    said: Mapping[str, tuple[str, ...]]


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


@dataclass(frozen=True, slots=True)
class Nouns:
    """English nouns in WordNet, written by scripts/build_nouns.py.

    Attributes:
        above: Words of the game that are kinds of a noun.
        below: Words of the game of which a noun is a kind.
        classes: Classes of a noun, with a "+" for wide ones.
    """

    above: Mapping[str, frozenset[str]] = field(default_factory=dict)
    below: Mapping[str, frozenset[str]] = field(default_factory=dict)
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

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


@dataclass(frozen=True, slots=True)
class Rules:
    """Constraints on the entries.

    Attributes:
        excludes: Features and kinds that exclude a feature or kind.
        only: Kinds that alone may have a feature.
        facts: Facts, features and kinds that a fact requires.
        apart: Facts and features that a fact excludes.
    """

    excludes: Mapping[str, tuple[str, ...]]
    only: Mapping[str, tuple[str, ...]]
    facts: Mapping[str, tuple[str, ...]]
    apart: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The whole knowledge, in the order of the files.

    Attributes:
        kinds: Kinds by key.
        features: Features by key.
        scales: Scales by key.
        concepts: Concepts by name.
        rules: Constraints on the entries.
        facts: Facts by key.
        nouns: English nouns, and the words that are kinds of them.
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
        """The names of the concepts, by category."""
        return {
            category: tuple(n for n, c in self.concepts.items() if c.category == category)
            for category in dict.fromkeys(c.category for c in self.concepts.values())
        }


# Words whose first sound is not that of their first letter.
_ARTICLES = {
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
    """Return "a" or "an", by the sound of the noun's first word."""
    first = noun.split()[0].lower()
    return _ARTICLES.get(first, "an" if first[0] in "aeiou" else "a")
