"""Logical forms of questions, their canonical wording, and the rule: the true replies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ragen_envs.games.twenty_questions.knowledge.schema import (
    Concept,
    Grade,
    Knowledge,
    indefinite_article,
)

Relation: TypeAlias = Literal["more", "less", "equal"]
Answer: TypeAlias = Literal["No", "Sometimes", "Yes"]
ANSWERS: tuple[Answer, ...] = ("No", "Sometimes", "Yes")
"""The replies, from the weakest."""
_Range: TypeAlias = tuple[float, float]
_OF_GRADE: dict[Grade, Answer] = {"no": "No", "sometimes": "Sometimes", "yes": "Yes"}
_THAN = {"more": "more than", "less": "less than", "equal": "exactly"}
_COUNT = {"more": "more than", "less": "fewer than", "equal": "exactly"}
_WHERE = {"starts": "start with", "ends": "end with", "contains": "contain"}


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

    It compares with a reference of the scale or a concept, both without an article; or with a
    level. A half is the bound between two levels: level 3 ends and level 4 begins at 3.5.
    """

    scale: str
    relation: Relation
    to: str | float


@dataclass(frozen=True, slots=True)
class Letter:
    """Does its name have these lower-case letters at this place ("Does it start with B?")?"""

    place: Literal["starts", "ends", "contains"]
    letters: str


@dataclass(frozen=True, slots=True)
class Length:
    """How long is its name ("Does its name have more than five letters?")?"""

    unit: Literal["letters", "words"]
    relation: Relation
    number: int


@dataclass(frozen=True, slots=True)
class Guess:
    """Is it this word ("Is it a dog?")? Another noun than a concept is always wrong.

    A narrower guess names a subkind ("grizzly") to which no other word belongs. It counts as the
    same guess.
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


Known: TypeAlias = IsKind | Has | Knows | IsNoun
"""Forms whose reply is in the knowledge."""
Form: TypeAlias = Known | Compare | Letter | Length | Guess | Not | And | Either | Narrowed


def say(form: Form, knowledge: Knowledge) -> str:
    """Return the canonical question of a form."""
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


def _say_known(form: Known, knowledge: Knowledge) -> str:
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


def answer(form: Form, concept: Concept, knowledge: Knowledge) -> Answer | None:
    """Return the true reply to a question about a concept, None if it is unknown.

    The replies follow Kleene's strong three-valued logic: "not" swaps Yes and No, "and" is the
    weakest reply and "or" the strongest. For kinds the world is closed: a kind that the concept
    does not name is No. For features, facts and nouns it is open: a feature that neither the
    concept nor its kinds name is No only where they settle it (open.toml has the exceptions). An
    unknown part does not matter if the others decide.
    """
    match form:
        case IsKind() | Has() | Knows() | IsNoun():
            grade = _grade(form, concept, knowledge)
            return _OF_GRADE[grade] if grade else None
        case Compare(scale, relation, to):
            return _compare(scale, relation, to, concept, knowledge)
        case Letter(place, letters):
            return _yes(_is_spelled(concept.name, place, letters))
        case Length(unit, relation, number):
            name = concept.name
            count = len(name.split()) if unit == "words" else sum(map(str.isalpha, name))
            return _compare_ranges((count, count), relation, (number, number), "No")
        case Guess(name, narrower):
            kinds = () if narrower else knowledge.nouns.above.get(name, ())
            return _yes(name == concept.name or concept.name in kinds)
        case Not(inner):
            found = answer(inner, concept, knowledge)
            return None if found is None else ANSWERS[2 - ANSWERS.index(found)]
        case Narrowed(inner):
            return "No" if answer(inner, concept, knowledge) == "No" else None
        case And(forms):
            return _strongest(forms, concept, knowledge, sign=-1)
        case Either(forms):
            return _strongest(forms, concept, knowledge, sign=1)


def _grade(form: Known, concept: Concept, knowledge: Knowledge) -> Grade | None:
    """Return the grade in the knowledge, None if it is unknown."""
    match form:
        case IsKind(kind):
            knowledge.kinds[kind]
            return concept.memberships.get(kind, "no")
        case Has(feature):
            knowledge.features[feature]
            return concept.grade(feature)
        case Knows(fact):
            return knowledge.facts[fact].grades.get(concept.name)
        case IsNoun(noun):
            return knowledge.nouns.grade(noun, concept)


def _strongest(
    forms: tuple[Form, ...], concept: Concept, knowledge: Knowledge, sign: int
) -> Answer | None:
    """Return the strongest reply, or the weakest for sign -1; None if an unknown one decides."""
    found = [answer(form, concept, knowledge) for form in forms]
    known = [sign * ANSWERS.index(each) for each in found if each is not None]
    end = max(0, sign * 2)
    if None in found and end not in known:
        return None
    return ANSWERS[sign * max(known)]


def _yes(true: bool) -> Answer:
    return "Yes" if true else "No"


def _compare(
    scale: str, relation: Relation, to: str | float, concept: Concept, knowledge: Knowledge
) -> Answer:
    """Return the reply to a comparison: with a level by levels, with a name more finely."""
    if not isinstance(to, str):
        return _compare_ranges(concept.levels[scale], relation, (to, to))
    known = knowledge.scales[scale]
    reference = known.references.get(to)
    low, high = (reference, reference) if reference else knowledge.concepts[to].levels[scale]
    (own_low, own_high), off = concept.levels[scale], known.finer.get(to, 0)
    own_off = known.finer.get(concept.name, 0)
    first = own_low + own_off, own_high + own_off
    return _compare_ranges(first, relation, (low + off, high + off))


def _compare_ranges(
    first: _Range, relation: Relation, second: _Range, same: Answer = "Sometimes"
) -> Answer:
    """Return how two ranges compare; `same` is the reply if they share a level."""
    if relation == "less":
        return _compare_ranges(second, "more", first, same)
    if relation == "equal":
        if first[1] < second[0] or second[1] < first[0]:
            return "No"
        return "Yes" if first == second and first[0] == first[1] else "Sometimes"
    if first[0] > second[1]:
        return "Yes"
    return "No" if first[1] < second[0] else same


def _is_spelled(name: str, place: str, letters: str) -> bool:
    spelling = name.lower().replace("-", "")
    if place == "starts":
        return spelling.startswith(letters)
    return spelling.endswith(letters) if place == "ends" else letters in spelling
