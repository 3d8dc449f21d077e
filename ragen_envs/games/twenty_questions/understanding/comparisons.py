"""Comparisons: the scale, the relation and the reference of a question, which may be a measure."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cache

from ragen_envs.games.twenty_questions.forms import Compare, Form, Not, Relation
from ragen_envs.games.twenty_questions.understanding.lexicon import DENIES, Lexicon, key
from ragen_envs.games.twenty_questions.understanding.tokens import (
    Frames,
    Tokens,
    data_file,
    word_set,
)

_RELATIONS: dict[str, Relation] = {"more": "more", "less": "less", "equal": "equal"}
_PART = re.compile("[A-Z]+")
_PLAIN = word_set(
    "domestic domesticated average typical normal standard ordinary regular common usual single "
    "whole adult grown full sized size real actual medium up of fully"
)

# Units in centimetres or in grams.
UNITS: dict[str, dict[str, float]] = {
    "size": {
        "mm": 0.1, "millimetre": 0.1, "cm": 1, "centimetre": 1, "m": 100, "metre": 100,
        "km": 100_000, "kilometre": 100_000, "inch": 2.54, "inche": 2.54,
        "foot": 30.48, "feet": 30.48, "ft": 30.48, "yard": 91.44, "mile": 160_934,
    },
    "weight": {
        "g": 1, "gram": 1, "kg": 1000, "kilo": 1000, "kilogram": 1000, "t": 1_000_000,
        "ton": 1_000_000, "tonne": 1_000_000, "pound": 453.6, "lb": 453.6, "ounce": 28.35,
    },
}  # fmt: skip
_LAST = word_set("long tall high wide in size length weight height across")
_SAID = {"half": 0.5, "hundred": 100.0, "thousand": 1000.0}
_IN_LEVEL = re.compile(r"(\d+(?:\.\d+)?)(?: ([a-z]+))?")
_ON_THE_SCALE = re.compile(r"(\d{1,3}) on scale from 1 to \d{1,3}")
_LONGEST_NUMBER = 9


def read_comparison(question: Tokens, lexicon: Lexicon) -> Form | None:
    """Return the comparison in a question, or None.

    A measure stands for its level, or for the bound between two. A size equal to a bound is on the
    level that ends there. A thing that fits into another is not bigger.
    """
    for (scale, asked), words in _frames().matches(question):
        to = _read_object(scale, words, lexicon)
        if to is not None:
            relation = _RELATIONS[asked.removeprefix(DENIES)]
            if relation == "equal" and isinstance(to, float):
                to = int(to)
            form = Compare(scale, relation, to)
            return Not(form) if asked.startswith(DENIES) else form
    return None


@cache
def _frames() -> Frames[tuple[str, str]]:
    table = data_file("comparisons.toml")
    return Frames(
        {
            (scale, relation): [
                _PART.sub(lambda part: table["parts"][part[0]], each) for each in written
            ]
            for scale, relations in table["frames"].items()
            for relation, written in relations.items()
        }
    )


def _read_object(scale: str, words: Tokens, lexicon: Lexicon) -> str | float | None:
    """Return the reference, the concept or the level that a phrase names."""
    spoken = key(words)
    plainly = key(word for word in words if word not in _PLAIN)
    for name in (spoken, plainly):
        if named := lexicon.references[scale].get(name) or lexicon.concepts.get(name):
            return named
    return _read_measure(spoken, scale, lexicon.knowledge.scales[scale].levels)


@cache
def _bounds(scale: str, levels: tuple[str, ...]) -> tuple[float, ...]:
    """Return the upper bounds, in cm or g, at the end of all levels but the last: "3 to 12 cm"."""
    units = UNITS[scale]
    measures = ([m for m in _IN_LEVEL.findall(text) if m[1] in units] for text in levels[:-1])
    return tuple(float(each[-1][0]) * units[each[-1][1]] for each in measures)


def _read_measure(spoken: str, scale: str, levels: tuple[str, ...]) -> float | None:
    """Return the level of a measure ("3 kg", "half metre"), None if it is not a measure.

    A measure equal to a bound is between two levels: if level 4 ends at 5 kg, 5 kg is 4.5, and
    nothing on level 4 is heavier. A unit alone is one of it, and "4 on scale from 1 to 12" is 4.
    """
    if on_scale := _ON_THE_SCALE.fullmatch(spoken):
        return int(on_scale[1])
    words = spoken.split()
    while words and words[-1] in _LAST:
        words.pop()
    number = 1.0
    if len(words) == 2 and (words[0].isdecimal() or words[0] in _SAID):
        number = _SAID.get(words[0]) or float(words[0][:_LONGEST_NUMBER])
        words = words[1:]
    if len(words) != 1:
        return None
    unit = UNITS[scale].get(words[0]) or UNITS[scale].get(words[0].removesuffix("s"))
    if unit is None:
        return None
    upper = _bounds(scale, levels)
    below = bisect_left(upper, number * unit)
    return below + 1.5 if number * unit in upper else below + 1
