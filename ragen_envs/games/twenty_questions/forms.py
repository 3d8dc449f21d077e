"""Logical forms of questions, and their canonical wording."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ragen_envs.games.twenty_questions.knowledge.schema import Knowledge, indefinite_article

Relation: TypeAlias = Literal["more", "less", "equal"]


@dataclass(frozen=True, slots=True)
class IsKind:
    """Is it of this kind ("Is it an animal?")?"""

    kind: str  # key of kinds.toml


@dataclass(frozen=True, slots=True)
class Has:
    """Does it have this feature ("Can it fly?", "Is it made of wood?")?"""

    feature: str  # key of features.toml


@dataclass(frozen=True, slots=True)
class Knows:
    """Is this fact true of it ("Does it have ears?")?"""

    fact: str  # key of the facts


@dataclass(frozen=True, slots=True)
class IsNoun:
    """Is it of the kind of a noun outside the game ("Is it a ruminant?", "Is it a gate?")?"""

    noun: str  # English noun


@dataclass(frozen=True, slots=True)
class Compare:
    """How does it compare on a scale ("Is it bigger than a car?")?

    Attributes:
        scale: Key of scales.toml.
        relation: Requested relation.
        to: Reference of the scale or name of a concept, both without an article; or a level. A half
            is the bound between two levels: level 3 ends and level 4 begins at 3.5.
    """

    scale: str
    relation: Relation
    to: str | float


@dataclass(frozen=True, slots=True)
class Letter:
    """Does its name have these letters at this place ("Does it start with B?")?

    Attributes:
        place: Place in the name.
        letters: Lower-case letters.
    """

    place: Literal["starts", "ends", "contains"]
    letters: str


@dataclass(frozen=True, slots=True)
class Length:
    """How long is its name ("Does its name have more than five letters?")?

    Attributes:
        unit: Counted unit.
        relation: Requested relation to the number.
        number: Number to compare with.
    """

    unit: Literal["letters", "words"]
    relation: Relation
    number: int


@dataclass(frozen=True, slots=True)
class Guess:
    """Is it this word ("Is it a dog?")?

    Attributes:
        name: Name of a concept, or another noun, which is always wrong.
        narrower: True if the guess names a subkind ("grizzly") to which no other word belongs. It
            counts as the same guess.
    """

    name: str
    narrower: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Not:
    """Is the form false ("Is it not an animal?")?"""

    form: Form


@dataclass(frozen=True, slots=True)
class And:
    """Are all of the forms true ("Is it small and round?")?"""

    forms: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Is at least one of the forms true ("Is it a fruit or a vegetable?")?

    "Or" is inclusive. An either-or question is not a choice: "Is it big or small?" is answered Yes
    if one of them is true.
    """

    forms: tuple[Form, ...]


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Is the form true, and an unknown condition ("Does it have a shell that it can close?")?

    It is false if the form is false, and unknown otherwise.
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
    """Return the canonical question of a form.

    Raises:
        KeyError: The form names an unknown kind, feature or scale.
    """
    match form:
        case IsKind() | Has() | Knows() | IsNoun():
            return _say_known(form, knowledge)
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
            return _join_forms(forms, ", and ", knowledge)
        case Either(forms):
            return _join_forms(forms, ", or ", knowledge)


def _say_known(form: IsKind | Has | Knows | IsNoun, knowledge: Knowledge) -> str:
    """Return the question of the knowledge or of a noun."""
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
    """Return a name with its indefinite article, such as "a dog" or "milk"."""
    known = knowledge.concepts.get(name)
    word = known.article if known else indefinite_article(name)
    return f"{word} {name}".lstrip()


def _join_forms(forms: tuple[Form, ...], word: str, knowledge: Knowledge) -> str:
    asked = [say(form, knowledge).removesuffix("?") for form in forms]
    return word.join([asked[0], *(each[0].lower() + each[1:] for each in asked[1:])]) + "?"


def questions(knowledge: Knowledge) -> tuple[Form, ...]:
    """Return the standard questions: all kinds, all features, and the scales' asked references."""
    return (
        *map(IsKind, knowledge.kinds),
        *map(Has, knowledge.features),
        *(Compare(s, "more", to) for s, scale in knowledge.scales.items() for to in scale.asked),
    )
