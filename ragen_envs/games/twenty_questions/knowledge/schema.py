"""The parts of the knowledge, as frozen dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from ragen_envs.games.twenty_questions.knowledge.nouns import Nouns

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
