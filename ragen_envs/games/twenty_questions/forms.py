"""Logical forms: what a question is understood as, and its canonical wording."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ragen_envs.games.twenty_questions.knowledge.schema import Knowledge, indefinite_article

Relation: TypeAlias = Literal["more", "less", "equal"]


@dataclass(frozen=True, slots=True)
class IsKind:
    """Is it of this kind ("Is it an animal?")?

    Attributes:
        kind: a key of kinds.toml.
    """

    kind: str


@dataclass(frozen=True, slots=True)
class Has:
    """Does it have this feature ("Can it fly?", "Is it made of wood?")?

    Attributes:
        feature: a key of features.toml.
    """

    feature: str


@dataclass(frozen=True, slots=True)
class Knows:
    """Is this known of it ("Does it have ears?")?

    Attributes:
        fact: a key of the facts.
    """

    fact: str


@dataclass(frozen=True, slots=True)
class IsNoun:
    """Is it what a noun names that is no word of the game ("Is it a ruminant?", "Is it a gate?")?

    Attributes:
        noun: a noun of English.
    """

    noun: str


@dataclass(frozen=True, slots=True)
class Compare:
    """How does it compare on a scale ("Is it bigger than a car?")?

    Attributes:
        scale: a key of scales.toml.
        relation: whether it is asked to be more, less or as much.
        to: a reference of the scale or the name of a concept, both without an article; or a level,
            of which a half is the bound between two: 3.5 is where level 3 ends and level 4 begins.
    """

    scale: str
    relation: Relation
    to: str | float


@dataclass(frozen=True, slots=True)
class Letter:
    """Does its name have these letters there ("Does it start with B?")?

    Attributes:
        place: where.
        letters: small letters.
    """

    place: Literal["starts", "ends", "contains"]
    letters: str


@dataclass(frozen=True, slots=True)
class Length:
    """How long is its name ("Does its name have more than five letters?")?

    Attributes:
        unit: what is counted.
        relation: how the count is asked to compare.
        number: what it is compared with.
    """

    unit: Literal["letters", "words"]
    relation: Relation
    number: int


@dataclass(frozen=True, slots=True)
class Guess:
    """Is it this ("Is it a dog?")?

    Attributes:
        name: the name of a concept, or another noun, which is never right.
        narrower: whether it was guessed by a name for a kind of it ("grizzly"), of which no other
            word is one. It is the same guess all the same.
    """

    name: str
    narrower: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Not:
    """Is the form not so ("Is it not an animal?")?"""

    form: Form


@dataclass(frozen=True, slots=True)
class And:
    """Are all of the forms so ("Is it small and round?")?"""

    forms: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Is at least one of the forms so ("Is it a fruit or a vegetable?")?

    An "or" is inclusive, and an either-or question is not a choice: the answer to "Is it big or
    small?" is Yes if one of them holds.
    """

    forms: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Is the form so, and more that is not known ("Does it have a shell that it can close?")?

    Where the form is not so, neither is this; else it is not known.
    """

    form: Form


Form: TypeAlias = (
    IsKind
    | Has
    | Knows
    | IsNoun
    | Compare
    | Letter
    | Length
    | Guess
    | Not
    | And
    | Either
    | Narrowed
)


def say(form: Form, knowledge: Knowledge) -> str:
    """Return the canonical question that means the form.

    Args:
        form: what is asked.
        knowledge: where kinds and features have their questions.

    Raises:
        KeyError: if the form names an unknown kind, feature or scale.
    """
    match form:
        case IsKind() | Has() | Knows() | IsNoun():
            return _asked(form, knowledge)
        case Compare(scale, relation, to):
            asked = knowledge.scales[scale]
            if not isinstance(to, str):
                most = len(asked.levels)
                return f"Is its {scale} {_THAN[relation]} {to} on the scale from 1 to {most}?"
            return asked.asks[relation].format(with_article(to, knowledge))
        case Letter(place, letters):
            return f"Does its name {_WHERE[place]} {letters.upper()}?"
        case Length(unit, relation, number):
            return f"Does its name have {_COUNT[relation]} {number} {unit}?"
        case Guess(name):
            return f"Is it {with_article(name, knowledge)}?"
        case Not(inner):
            verb, subject, *rest = say(inner, knowledge).split(" ")
            if subject == "its":
                subject = f"{subject} {rest.pop(0)}"
            return " ".join((verb, subject, "not", *rest))
        case Narrowed(inner):
            return f"{say(inner, knowledge).removesuffix('?')}, of a certain kind?"
        case And(forms):
            return _joined(forms, ", and ", knowledge)
        case Either(forms):
            return _joined(forms, ", or ", knowledge)


def _asked(form: IsKind | Has | Knows | IsNoun, knowledge: Knowledge) -> str:
    """Return the question that the knowledge has, or that a noun makes."""
    match form:
        case IsKind(kind):
            return knowledge.kinds[kind].ask
        case Has(feature):
            return knowledge.features[feature].ask
        case Knows(fact):
            return knowledge.facts[fact].ask
        case IsNoun(noun):
            kind = "a kind of " if noun in knowledge.concepts else ""
            return f"Is it {kind}{noun if kind else with_article(noun, knowledge)}?"


_THAN = {"more": "more than", "less": "less than", "equal": "exactly"}
_COUNT = {"more": "more than", "less": "fewer than", "equal": "exactly"}
_WHERE = {"starts": "start with", "ends": "end with", "contains": "contain"}


def with_article(name: str, knowledge: Knowledge) -> str:
    """Return a concept's, a reference's or another word with its article, "a dog" or "milk"."""
    known = knowledge.concepts.get(name)
    word = known.article if known else indefinite_article(name)
    return f"{word} {name}".lstrip()


def _joined(forms: tuple[Form, ...], word: str, knowledge: Knowledge) -> str:
    asked = [say(form, knowledge).removesuffix("?") for form in forms]
    return word.join([asked[0], *(each[0].lower() + each[1:] for each in asked[1:])]) + "?"


def questions(knowledge: Knowledge) -> tuple[Form, ...]:
    """Return the standard questions: all kinds, all features, all scales' asked references."""
    return (
        *map(IsKind, knowledge.kinds),
        *map(Has, knowledge.features),
        *(Compare(s, "more", to) for s, scale in knowledge.scales.items() for to in scale.asked),
    )
