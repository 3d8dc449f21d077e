"""The rule: the true answer to a question about a concept, Yes, No or Sometimes."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ragen_envs.twenty_questions.forms import (
    And,
    Compare,
    Either,
    Form,
    Guess,
    Has,
    IsKind,
    Length,
    Letter,
    Not,
    Relation,
)
from ragen_envs.twenty_questions.knowledge.schema import Concept, Grade, Knowledge

Answer: TypeAlias = Literal["No", "Sometimes", "Yes"]
ANSWERS: tuple[Answer, ...] = ("No", "Sometimes", "Yes")
"""From the weakest."""
_Range: TypeAlias = tuple[float, float]
_OF_GRADE: dict[Grade, Answer] = {"no": "No", "sometimes": "Sometimes", "yes": "Yes"}


def answer(form: Form, concept: Concept, knowledge: Knowledge) -> Answer:
    """Return the true answer to a question about a concept.

    The three answers are those of a logic of three values (Kleene's strong one): "not" swaps Yes
    and No, "and" is the weakest answer and "or" the strongest. The world is closed: a feature that
    neither the concept nor its kinds name is No.

    Args:
        form: what is asked.
        concept: what it is asked of.
        knowledge: what is known of everything else.

    Raises:
        KeyError: if the form names a kind, a feature, a scale or something to compare with that
            is unknown.
    """
    match form:
        case IsKind(kind):
            knowledge.kinds[kind]
            return _OF_GRADE[concept.memberships.get(kind, "no")]
        case Has(feature):
            knowledge.features[feature]
            return _OF_GRADE[concept.grades.get(feature, "no")]
        case Compare(scale, relation, to):
            return _compared(concept.levels[scale], relation, _levels(scale, to, knowledge))
        case Letter(place, letters):
            return _yes(_spelled(concept.name, place, letters))
        case Length(unit, relation, number):
            return _compared((_count(concept.name, unit),) * 2, relation, (number, number), "No")
        case Guess(name):
            return _yes(name == concept.name)
        case Not(inner):
            return ANSWERS[2 - ANSWERS.index(answer(inner, concept, knowledge))]
        case And(forms):
            return min((answer(f, concept, knowledge) for f in forms), key=ANSWERS.index)
        case Either(forms):
            return max((answer(f, concept, knowledge) for f in forms), key=ANSWERS.index)


def _yes(true: bool) -> Answer:
    return "Yes" if true else "No"


def _levels(scale: str, to: str | float, knowledge: Knowledge) -> _Range:
    if not isinstance(to, str):
        return to, to
    reference = knowledge.scales[scale].references.get(to)
    return (reference, reference) if reference else knowledge.concepts[to].levels[scale]


def _compared(
    first: _Range, relation: Relation, second: _Range, same: Answer = "Sometimes"
) -> Answer:
    """Return how two ranges compare; on the same level either may be the bigger, hence "same"."""
    if relation == "less":
        return _compared(second, "more", first, same)
    if relation == "equal":
        if first[1] < second[0] or second[1] < first[0]:
            return "No"
        return "Yes" if first == second and first[0] == first[1] else "Sometimes"
    if first[0] > second[1]:
        return "Yes"
    return "No" if first[1] < second[0] else same


def _spelled(name: str, place: str, letters: str) -> bool:
    spelling = name.lower().replace("-", "")
    if place == "starts":
        return spelling.startswith(letters)
    return spelling.endswith(letters) if place == "ends" else letters in spelling


def _count(name: str, unit: str) -> int:
    return len(name.split()) if unit == "words" else sum(map(str.isalpha, name))
