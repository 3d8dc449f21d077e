"""The rule: the true reply to a question about a concept, Yes, No or Sometimes."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ragen_envs.games.twenty_questions.forms import (
    And,
    Compare,
    Either,
    Form,
    Guess,
    Has,
    IsKind,
    IsNoun,
    Knows,
    Length,
    Letter,
    Narrowed,
    Not,
    Relation,
)
from ragen_envs.games.twenty_questions.knowledge.schema import Concept, Grade, Knowledge

Answer: TypeAlias = Literal["No", "Sometimes", "Yes"]
ANSWERS: tuple[Answer, ...] = ("No", "Sometimes", "Yes")
"""The replies, from the weakest."""
_Range: TypeAlias = tuple[float, float]
_OF_GRADE: dict[Grade, Answer] = {"no": "No", "sometimes": "Sometimes", "yes": "Yes"}


def answer(form: Form, concept: Concept, knowledge: Knowledge) -> Answer | None:
    """Return the true reply to a question about a concept, None if it is unknown.

    The replies follow Kleene's strong three-valued logic: "not" swaps Yes and No, "and" is the
    weakest reply and "or" the strongest. For kinds the world is closed: a kind that the concept
    does not name is No. For features, facts and nouns it is open: a feature that neither the
    concept nor its kinds name is No only where they settle it (open.toml has the exceptions). An
    unknown part does not matter if the others decide.

    Raises:
        KeyError: The form names an unknown kind, feature, scale or object of comparison.
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
            count = _count(concept.name, unit)
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


def _grade(
    form: IsKind | Has | Knows | IsNoun, concept: Concept, knowledge: Knowledge
) -> Grade | None:
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
    second = (reference, reference) if reference else knowledge.concepts[to].levels[scale]
    first_off, second_off = known.finer.get(concept.name, 0), known.finer.get(to, 0)
    return _compare_ranges(
        _shift(concept.levels[scale], first_off), relation, _shift(second, second_off)
    )


def _shift(levels: _Range, off: float) -> _Range:
    return levels[0] + off, levels[1] + off


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


def _count(name: str, unit: str) -> int:
    return len(name.split()) if unit == "words" else sum(map(str.isalpha, name))
