"""What does a question compare the secret with?"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ragen_envs.twenty_questions.forms import Compare, Form, Not, Relation
from ragen_envs.twenty_questions.understanding.normalise import Tokens, word_set
from ragen_envs.twenty_questions.understanding.patterns import SLOT, expand
from ragen_envs.twenty_questions.understanding.phrases import Lexicon, key

_MUCH = "(much|any|even|slightly|noticeably|significantly|considerably|far)"
_ABOUT = "(about|roughly|approximately|around|nearly|almost|more|exactly)"
_BIGGER = "bigger|larger|longer|taller|greater|wider"
_SMALLER = "smaller|shorter|tinier|littler"
_BIG = "big|large|long|tall"
_IN = "in|inside|into|within"

# By scale and relation, where "!" stands for the opposite.
_FRAMES: dict[tuple[str, str], tuple[str, ...]] = {
    ("size", "more"): (
        f"is it {_MUCH} {_BIGGER} (in) (size) (than) _",
        f"is it {_MUCH} {_BIGGER} in size than _",
        f"is its|the size|length|height {_BIGGER}|more than _",
        "is it more than _ long|tall|wide|high|big|across|in (size|length|height)",
        "is it over|above _ (in) long|tall|wide|high|big|across|size|length|height",
    ),
    ("size", "less"): (
        f"is it {_MUCH} {_SMALLER} (in) (size) than _",
        "is it less than _ long|tall|wide|high|big|across|in (size|length|height)",
        "is it under|below _ (in) long|tall|wide|high|big|across|size|length|height",
        f"is its|the size|length|height {_SMALLER}|less than _",
    ),
    ("size", "equal"): (
        f"is it {_ABOUT} as {_BIG}|small as _",
        f"is it {_ABOUT} the (same) size|length|height of|as _",
        "is it similar|comparable|equal|close in size to _",
        "is it of a|the similar|same size to|as _",
        "is it of similar size to|as _",
        f"is it {_ABOUT} _ sized",
        "is its|the size exactly _",
    ),
    ("size", "!more"): (
        f"is it no {_BIGGER} than _",
        f"is it at most as {_BIG} as _",
        f"does it fit|go {_IN} _",
        f"does people fit|put|pack|get it {_IN} _",
        f"is it small enough to fit|go|put|be {_IN} _",
        f"is it small enough to be put|packed|kept|carried {_IN} _",
        f"is it possible to fit|put it {_IN} _",
    ),
    ("size", "!less"): (f"is it at least as {_BIG} as _", f"is it no {_SMALLER} than _"),
    ("weight", "more"): (
        f"is it {_MUCH} heavier (in) (weight) than _",
        "is it more heavy than _",
        "does it weigh (much) more than _",
        "does it weigh over|above _",
        "is its|the weight more|greater|higher|heavier than _",
        "is its|the weight over|above _",
        "is it more than _ in weight",
        "is it over|above _ in weight",
        "is it more than _ heavy",
    ),
    ("weight", "less"): (
        f"is it {_MUCH} lighter (in) (weight) than _",
        "is it less heavy than _",
        "does it weigh (much) less than _",
        "does it weigh under|below _",
        "is its|the weight less|lower|smaller|lighter than _",
        "is its|the weight under|below _",
        "is it less than _ in weight",
        "is it under|below _ in weight",
    ),
    ("weight", "equal"): (
        f"is it {_ABOUT} as heavy|light as _",
        f"does it weigh {_ABOUT} as much as _",
        "is its|the weight exactly _",
        f"does it weigh {_ABOUT} the same as _",
        f"is it {_ABOUT} the (same) weight of|as _",
        "is it similar|comparable|equal|close in weight to _",
        f"does it have {_ABOUT} the same weight as _",
    ),
    ("weight", "!more"): (
        "is it no heavier than _",
        "is it at most as heavy as _",
        "does it weigh at most _",
        "does it weigh no more than _",
    ),
    ("weight", "!less"): (
        "is it at least as heavy as _",
        "is it no lighter than _",
        "does it weigh at least (as) (much) (as) _",
        "does it weigh no less than _",
    ),
}

_ON_THE_SCALE = "on scale from 1 to 10"
_PLAIN = word_set(
    "average typical normal standard ordinary regular common usual single whole adult grown "
    "full sized size real actual medium"
)

# What one unit is in the unit of the scale: centimetres or grams.
_UNITS: dict[str, dict[str, float]] = {
    "size": {
        "mm": 0.1, "millimetre": 0.1, "cm": 1, "centimetre": 1, "m": 100, "metre": 100,
        "km": 100_000, "kilometre": 100_000, "inch": 2.54, "inche": 2.54, "inches": 2.54,
        "foot": 30.48, "feet": 30.48, "ft": 30.48, "yard": 91.44, "mile": 160_934,
    },
    "weight": {
        "g": 1, "gram": 1, "kg": 1000, "kilo": 1000, "kilogram": 1000, "t": 1_000_000,
        "ton": 1_000_000, "tonne": 1_000_000, "pound": 453.6, "lb": 453.6, "ounce": 28.35,
    },
}  # fmt: skip
# The upper bound of each level of scales.toml but the last.
_BOUNDS: dict[str, tuple[float, ...]] = {
    "size": (3, 12, 35, 70, 140, 200, 300, 600, 2000, 10_000, 50_000),
    "weight": (
        10, 150, 1000, 5000, 20_000, 50_000, 120_000, 700_000, 2_500_000, 8_000_000, 200_000_000,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Frame:
    tail: Tokens
    scale: str
    relation: str


def read_comparison(question: Tokens, lexicon: Lexicon) -> Form | None:
    """Return the comparison that a question makes, None if it makes none.

    A measure stands for the level that it falls in, and what fits into something is not bigger.

    Args:
        question: in the plain order.
        lexicon: where what one compares with is named.
    """
    table = _table()
    for start in range(len(question) - 1, 2, -1):
        for frame in table.get(question[:start], ()):
            end = len(question) - len(frame.tail)
            if start < end and question[end:] == frame.tail:
                to = _compared(frame.scale, question[start:end], lexicon)
                if to is not None:
                    return _form(frame, to)
    return None


@cache
def _table() -> Mapping[Tokens, tuple[_Frame, ...]]:
    found: dict[Tokens, list[_Frame]] = {}
    for (scale, relation), frames in _FRAMES.items():
        for written in frames:
            for tokens in expand(written):
                at = tokens.index(SLOT)
                found.setdefault(tokens[:at], []).append(_Frame(tokens[at + 1 :], scale, relation))
    return {opening: tuple(each) for opening, each in found.items()}


def _form(frame: _Frame, to: str | int) -> Form:
    relations: dict[str, Relation] = {"more": "more", "less": "less", "equal": "equal"}
    form = Compare(frame.scale, relations[frame.relation.removeprefix("!")], to)
    return Not(form) if frame.relation.startswith("!") else form


def _compared(scale: str, words: Tokens, lexicon: Lexicon) -> str | int | None:
    """Return the reference, the concept or the level that a phrase names."""
    spoken = key(words)
    plainly = key(word for word in words if word not in _PLAIN)
    for each in (spoken, plainly):
        if found := lexicon.references[scale].get(each) or lexicon.concepts.get(each):
            return found
    level, _, rest = spoken.partition(" ")
    if rest == _ON_THE_SCALE and level.isdecimal():
        return int(level)
    return _measure(scale, spoken.split())


def _measure(scale: str, words: list[str]) -> int | None:
    """Return the level of a measure ("5 kg", "half a metre"); an article is one unit."""
    while words and words[-1] in ("long", "tall", "in", "size", "length", "weight", "height"):
        words = words[:-1]
    number = 1.0
    if len(words) == 2 and (words[0].isdecimal() or words[0] in ("half", "hundred")):
        number = {"half": 0.5, "hundred": 100}.get(words[0]) or float(words[0][:9])
        words = words[1:]
    units = _UNITS[scale]
    unit = units.get(words[0]) or units.get(words[0].removesuffix("s")) if len(words) == 1 else None
    return bisect_left(_BOUNDS[scale], number * unit) + 1 if unit else None
