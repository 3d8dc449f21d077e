"""Measures: the level of a scale that a length or a weight falls in."""

from __future__ import annotations

import re
from bisect import bisect_left

from ragen_envs.games.twenty_questions.knowledge.schema import Scale
from ragen_envs.games.twenty_questions.understanding.tokens import word_set

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


def bounds(name: str, scale: Scale) -> tuple[float, ...]:
    """Return the upper bounds of a scale's levels but the last, in centimetres or in grams.

    The text of a level ends with its bound: "3 to 12 cm", "up to 3 cm across".
    """
    return tuple(_bound(text, UNITS[name]) for text in scale.levels[:-1])


def _bound(text: str, units: dict[str, float]) -> float:
    measures = [(float(n), unit) for n, unit in _IN_LEVEL.findall(text) if unit in units]
    number, unit = measures[-1]
    return number * units[unit]


def level(spoken: str, scale: str, upper: tuple[float, ...]) -> float | None:
    """Return the level of a measure ("3 kg", "half metre"), None if it is not a measure.

    A measure equal to a bound is between two levels: if level 4 ends at 5 kg, 5 kg is 4.5, and
    nothing on level 4 is heavier. A unit alone is one of it, and "4 on scale from 1 to 12" is 4.

    Args:
        spoken: The measure, without articles.
        scale: Name of the scale.
        upper: Bounds of the scale's levels.
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
    below = bisect_left(upper, number * unit)
    return below + 1.5 if number * unit in upper else below + 1
