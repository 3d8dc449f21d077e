"""Prints the mistakes in the knowledge of Twenty Questions, and fails if there are any.

    PYTHONPATH=. python scripts/check_knowledge.py

Each check yields the mistakes that it finds, as lines of text.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.resources import files
from itertools import chain

import numpy as np

from ragen_envs.core.visible import write_out
from ragen_envs.games.twenty_questions.forms import say
from ragen_envs.games.twenty_questions.knowledge.loader import imply, inherit, load, read_toml
from ragen_envs.games.twenty_questions.knowledge.schema import Concept, Grade, Knowledge
from ragen_envs.games.twenty_questions.solver import Solver

APART = 2
"""Fewest standard questions in which two concepts must differ."""
_QUESTION = re.compile(r"(Is|Can|Does|Do) (it|you|people) \S.*\?")
RULES = read_toml(files("ragen_envs.games.twenty_questions.knowledge") / "rules.toml")
"""The rules by table and key; what a key excludes, or needs, is a text of names."""


def problems(knowledge: Knowledge) -> list[str]:
    """Return all mistakes in the knowledge."""
    return [line for check in CHECKS for line in check(knowledge)]


def questions_read_well(knowledge: Knowledge) -> Iterator[str]:
    """Canonical questions accept "not" after the subject, and are unique."""
    asks = [kind.ask for kind in knowledge.kinds.values()]
    asks += [feature.ask for feature in knowledge.features.values()]
    yield from (f"{ask!r} is asked twice" for ask, n in Counter(asks).items() if n > 1)
    yield from (
        f"{ask!r} is not an auxiliary, a subject and the rest"
        for ask in asks
        if not _QUESTION.fullmatch(ask)
    )


def names_are_unique(knowledge: Knowledge) -> Iterator[str]:
    """Names are unique among concepts and kinds, so a guess is never a question for a kind."""
    owners: dict[str, str] = {
        word.lower(): f"the kind {key}"
        for key, kind in knowledge.kinds.items()
        for word in kind.words
    }
    for name, concept in knowledge.concepts.items():
        for word in (name, *concept.aliases):
            other = owners.setdefault(word.lower(), name)
            if other != name or (word != name and word.lower() == name.lower()):
                yield f"{name}: {word!r} is the name of {other} already"
        if len({word.lower() for word in concept.aliases}) < len(concept.aliases):
            yield f"{name}: an alias stands there twice"


def levels_fit(knowledge: Knowledge) -> Iterator[str]:
    """Levels are on the scale, within the bounds of the kinds, and agree with references."""
    for concept in knowledge.concepts.values():
        for scale, (low, high) in concept.levels.items():
            if not 1 <= low <= high <= len(knowledge.scales[scale].levels):
                yield f"{concept.name}: the {scale} {low} to {high} is not on the scale"
            for key in (key for key, grade in concept.memberships.items() if grade == "yes"):
                least, most = knowledge.kinds[key].bounds.get(scale, (low, high))
                if not least <= low <= high <= most:
                    yield f"{concept.name}: the {scale} {low} to {high} is not that of a {key}"
            reference = knowledge.scales[scale].references.get(concept.name, low)
            if not low <= reference <= high:
                yield f"{concept.name}: as a reference its {scale} is {reference}"


def weight_fits_size(knowledge: Knowledge) -> Iterator[str]:
    """Nothing is heavier than gold of its size or very light for it, except weather."""
    for concept in knowledge.concepts.values():
        (small, big), (light, heavy) = concept.levels["size"], concept.levels["weight"]
        if heavy > big + 2 + (big > 5) or (light < small - 3 and "weather" not in concept.kinds):
            yield f"{concept.name}: the size {small} to {big} but the weight {light} to {heavy}"


def implications_hold(knowledge: Knowledge) -> Iterator[str]:
    """A feature named in an entry is at least as strong as another one implies."""
    for concept in knowledge.concepts.values():
        for feature, grade in concept.own.items():
            implied = concept.grades.get(feature, "no")
            if grade != implied:
                yield f"{concept.name}: {feature} is {grade}, but something implies {implied}"


def rules_name_what_is_there(knowledge: Knowledge) -> Iterator[str]:
    """The rules name kinds, features and facts alone."""
    known = {*knowledge.kinds, *knowledge.features}
    for table in ("excludes", "only", "facts", "apart"):
        names = known if table in ("excludes", "only") else known | {*knowledge.facts}
        for key, others in RULES[table].items():
            for name in {key, *others.split()} - names:
                yield f"rules.toml: there is no {name}"


def nothing_is_excluded(knowledge: Knowledge) -> Iterator[str]:
    """No concept has two features or kinds for certain that exclude each other."""
    for concept in knowledge.concepts.values():
        certain = {key for key, grade in _all(concept) if grade == "yes"}
        for key, others in RULES["excludes"].items():
            for other in others.split():
                if {key, other} <= certain:
                    yield f"{concept.name}: {key} excludes {other}"


def features_keep_to_kinds(knowledge: Knowledge) -> Iterator[str]:
    """Features that are reserved for some kinds occur only there."""
    for concept in knowledge.concepts.values():
        for feature, kinds in RULES["only"].items():
            if feature in concept.grades and not concept.memberships.keys() & set(kinds.split()):
                yield f"{concept.name}: {feature} is only for {kinds}"


def everything_is_used(knowledge: Knowledge) -> Iterator[str]:
    """Each kind and feature is certain for at least two concepts, but not for all."""
    certain = Counter(
        key for each in knowledge.concepts.values() for key, grade in _all(each) if grade == "yes"
    )
    for key in chain(knowledge.kinds, knowledge.features):
        if not 2 <= certain[key] < len(knowledge.concepts):
            yield f"{key}: {certain[key]} concepts have it"


def facts_agree(knowledge: Knowledge) -> Iterator[str]:
    """A certain fact requires its implied facts, and forbids the facts that it excludes."""
    for concept in knowledge.concepts.values():
        for key, others in RULES["facts"].items():
            for other in others.split() if _grade(key, concept, knowledge) == "yes" else ():
                if _grade(other, concept, knowledge) == "no":
                    yield f"{concept.name}: {key} but not {other}"
        for key, others in RULES["apart"].items():
            for other in others.split() if _grade(key, concept, knowledge) == "yes" else ():
                if _grade(other, concept, knowledge) == "yes":
                    yield f"{concept.name}: {key} and {other}"


def facts_say_something(knowledge: Knowledge) -> Iterator[str]:
    """Each fact is known for a word, and its question is unique."""
    asks = {feature.ask for feature in knowledge.features.values()}
    asks |= {kind.ask for kind in knowledge.kinds.values()}
    for key, fact in knowledge.facts.items():
        if not fact.grades:
            yield f"{key}: it is known of no word"
        if fact.ask in asks or not _QUESTION.fullmatch(fact.ask):
            yield f"{key}: {fact.ask!r} is asked twice, or not an auxiliary, a subject and the rest"
        asks.add(fact.ask)


def _grade(key: str, concept: Concept, knowledge: Knowledge) -> Grade | None:
    """Return the grade of a fact, a feature or a kind; None for an unknown fact."""
    if key in knowledge.facts:
        return knowledge.facts[key].grades.get(concept.name)
    return concept.grades.get(key, concept.memberships.get(key, "no"))


def entries_say_something(knowledge: Knowledge) -> Iterator[str]:
    """No entry repeats an inherited feature or an absent one."""
    for concept in knowledge.concepts.values():
        for feature, grade in concept.own.items():
            if grade == without(concept, feature, knowledge):
                yield f"{concept.name}: {feature} would be {grade} anyway"


def without(concept: Concept, feature: str, knowledge: Knowledge) -> Grade:
    """Return the grade that a feature would have if the entry did not name it."""
    own = {key: grade for key, grade in concept.own.items() if key != feature}
    grades = {**inherit(concept.kinds, knowledge.kinds), **own}
    return imply(grades, knowledge.features).get(feature, "no")


def pairs_are_apart(knowledge: Knowledge) -> Iterator[str]:
    """Any two concepts differ in the replies to some standard questions."""
    solver = Solver(knowledge)
    pairs = []
    for first, row in enumerate(solver.table):
        differ = solver.table[first + 1 :] != row
        for offset in np.flatnonzero(differ.sum(axis=1) < APART):
            places = np.flatnonzero(differ[offset])
            asks = [say(solver.questions[place], knowledge) for place in places]
            pairs.append((solver.pool[first], solver.pool[first + 1 + offset], asks))
    for one, other, asks in sorted(pairs, key=lambda pair: len(pair[2])):
        yield f"{one} and {other} differ only in: {' '.join(asks) or 'nothing'}"


def _all(concept: Concept) -> chain[tuple[str, str]]:
    return chain(concept.memberships.items(), concept.grades.items())


CHECKS: tuple[Callable[[Knowledge], Iterator[str]], ...] = (
    questions_read_well,
    names_are_unique,
    levels_fit,
    weight_fits_size,
    implications_hold,
    rules_name_what_is_there,
    nothing_is_excluded,
    features_keep_to_kinds,
    everything_is_used,
    entries_say_something,
    pairs_are_apart,
    facts_agree,
    facts_say_something,
)
"""All checks, in the order of `problems`."""


if __name__ == "__main__":
    mistakes = problems(load())
    write_out("".join(f"{line}\n" for line in mistakes) or "Nothing is wrong.\n")
    sys.exit(bool(mistakes))
