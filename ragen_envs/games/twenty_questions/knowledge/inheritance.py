"""Inheritance: the kinds and features that an entry has without naming them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ragen_envs.games.twenty_questions.knowledge.schema import (
    GRADES,
    Concept,
    Feature,
    Grade,
    Kind,
    Knowledge,
)


def memberships(
    direct: tuple[str, ...], partly: tuple[str, ...], kinds: Mapping[str, Kind]
) -> dict[str, Grade]:
    """Return all kinds of an entry: "yes" for full membership, "sometimes" for partial."""
    full = _closure(direct, kinds)
    halves = (*partly, *(half for kind in full for half in kinds[kind].partly))
    half = _closure(halves, kinds)
    return {**dict.fromkeys(half, "sometimes"), **dict.fromkeys(full, "yes")}


def _closure(keys: Iterable[str], kinds: Mapping[str, Kind]) -> list[str]:
    reached: dict[str, None] = {}
    waiting = list(keys)
    while waiting:
        key = waiting.pop()
        if key not in reached:
            reached[key] = None
            waiting.extend(kinds[key].parents)
    return list(reached)


def inherit(keys: tuple[str, ...], kinds: Mapping[str, Kind]) -> dict[str, Grade]:
    """Return the features that kinds give: the strongest grade, a kind before its parents."""
    merged: dict[str, Grade] = {}
    for key in keys:
        grades = {**inherit(kinds[key].parents, kinds), **kinds[key].grades}
        for feature, grade in grades.items():
            merged[feature] = stronger(grade, merged.get(feature, "no"))
    return merged


def imply(grades: Mapping[str, Grade], features: Mapping[str, Feature]) -> dict[str, Grade]:
    """Return grades with implied ones, in the order of the features and without each "no"."""
    raised = dict(grades)
    waiting = list(raised)
    while waiting:
        key = waiting.pop()
        for other in features[key].implies:
            before = raised.get(other, "no")
            raised[other] = stronger(raised[key], before)
            if raised[other] != before:
                waiting.append(other)
    return {key: raised[key] for key in features if raised.get(key, "no") != "no"}


def stronger(first: Grade, second: Grade) -> Grade:
    """Return the stronger of two grades."""
    return max(first, second, key=GRADES.index)


def without(concept: Concept, feature: str, knowledge: Knowledge) -> Grade:
    """Return the grade that a feature would have if the entry did not name it."""
    own = {key: grade for key, grade in concept.own.items() if key != feature}
    grades = {**inherit(concept.kinds, knowledge.kinds), **own}
    return imply(grades, knowledge.features).get(feature, "no")
