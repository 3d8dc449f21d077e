"""Comparisons: the scale, the relation and the reference of a question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from ragen_envs.twenty_questions.forms import Compare, Form, Not, Relation
from ragen_envs.twenty_questions.understanding.lexicon.measures import level
from ragen_envs.twenty_questions.understanding.lexicon.phrases import Lexicon, key
from ragen_envs.twenty_questions.understanding.tokens.normalise import Tokens, word_set
from ragen_envs.twenty_questions.understanding.tokens.patterns import SLOT, expand

_MUCH = "(much|any|even|slightly|noticeably|significantly|considerably|far)"
_ABOUT = "(about|roughly|approximately|around|nearly|almost|more|exactly)"
_BIGGER = "bigger|larger|longer|taller|greater|wider"
_SMALLER = "smaller|shorter|tinier|littler"
_BIG = "big|large|long|tall"
_ITS = "is its|the (average|typical|usual) (adult) (body)"
_IN = "in|inside|into|within"

# By scale and relation, where "!" stands for the opposite.
_FRAMES: dict[tuple[str, str], tuple[str, ...]] = {
    ("size", "more"): (
        f"is it {_MUCH} {_BIGGER} (in) (size) (than) _",
        f"is it {_MUCH} {_BIGGER} in size than _",
        f"{_ITS} size|length|height {_BIGGER}|more than _",
        f"is it {_MUCH} more {_BIG} than _",
        "does it exceed _ in size",
        f"is it too {_BIG}|wide to fit|go|be|squeeze (put|packed|kept) {_IN} _",
        "is it more than _ long|tall|wide|high|big|across|in (size|length|height)",
        "is it over|above _ (in) long|tall|wide|high|big|across|size|length|height",
    ),
    ("size", "less"): (
        f"is it {_MUCH} {_SMALLER} (in) (size) than _",
        f"is it {_MUCH} less {_BIG} than _",
        "is it less than _ long|tall|wide|high|big|across|in (size|length|height)",
        "is it under|below _ (in) long|tall|wide|high|big|across|size|length|height",
        f"{_ITS} size|length|height {_SMALLER}|less than _",
    ),
    ("size", "equal"): (
        f"is it {_ABOUT} as {_BIG}|small as _",
        f"is it {_ABOUT} the (same) size|length|height of|as _",
        "is it similar|comparable|equal|close in size to _",
        "is it of a|the similar|same size to|as _",
        "is it of similar size to|as _",
        f"is it {_ABOUT} _ sized",
        f"{_ITS} size exactly _",
        f"{_ITS} size|length|height similar|comparable|equal|close|identical to "
        "(that|the size of) _",
        f"{_ITS} size|length|height the same as (that|the size of) _",
    ),
    ("size", "!more"): (
        f"is it no {_BIGGER} than _",
        f"is it {_SMALLER} or (about) the same size as|than _",
        f"is it {_SMALLER} or (about) as {_BIG}|small as _",
        f"is it {_SMALLER} than or equal to|in _",
        "is it (about) the same size as or smaller than _",
        f"is it at most as {_BIG} as _",
        f"is it {_ABOUT} the (same) size of|as _ or smaller",
        "is it the size of _ or smaller",
        f"does it fit {_IN} _",
        f"does people fit|squeeze it {_IN} _",
        f"is it small enough to fit|go|put|be {_IN} _",
        f"is it small enough to be put|packed|kept|carried {_IN} _",
        f"is it possible to fit|put it {_IN} _",
    ),
    ("size", "!less"): (
        f"is it at least as {_BIG} as _",
        f"is it no {_SMALLER} than _",
        f"is it {_ABOUT} the (same) size of|as _ or bigger",
        f"is it {_BIGGER} or (about) the same size as|than _",
        f"is it {_BIGGER} or (about) as {_BIG} as _",
    ),
    ("weight", "more"): (
        f"is it {_MUCH} heavier (in) (weight) than _",
        "is it (much) more heavy than _",
        "does it outweigh _",
        "does it exceed _ in weight",
        "does it weigh (much) more than _",
        "does it weigh over|above _",
        f"{_ITS} weight more|greater|higher|heavier than _",
        f"{_ITS} weight over|above _",
        "is it more than _ in weight",
        "is it over|above _ in weight",
        "is it more than _ heavy",
    ),
    ("weight", "less"): (
        f"is it {_MUCH} lighter (in) (weight) than _",
        "is it less heavy than _",
        "does it weigh (much) less than _",
        "does it weigh under|below _",
        f"{_ITS} weight less|lower|smaller|lighter than _",
        f"{_ITS} weight under|below _",
        "is it less than _ in weight",
        "is it under|below _ in weight",
    ),
    ("weight", "equal"): (
        f"is it {_ABOUT} as heavy|light as _",
        f"does it weigh {_ABOUT} as much as _",
        f"{_ITS} weight exactly _",
        f"does it weigh {_ABOUT} the same as _",
        f"is it {_ABOUT} the (same) weight of|as _",
        "is it similar|comparable|equal|close in weight to _",
        f"does it have {_ABOUT} the same weight as _",
        f"{_ITS} weight similar|comparable|equal|close|identical to (that|the weight of) _",
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

_PLAIN = word_set(
    "domestic domesticated average typical normal standard ordinary regular common usual single "
    "whole adult grown full sized size real actual medium up of fully"
)


@dataclass(frozen=True, slots=True)
class _Frame:
    tail: Tokens
    scale: str
    relation: str


def read_comparison(question: Tokens, lexicon: Lexicon) -> Form | None:
    """Return the comparison that a question makes, None if it makes none.

    A measure stands for the level that it falls in, or the bound that it is between two; what is
    about as big as a bound is on the level that ends there. What fits into something is not bigger.

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
    by_opening: dict[Tokens, list[_Frame]] = {}
    for (scale, relation), frames in _FRAMES.items():
        for written in frames:
            for tokens in expand(written):
                at = tokens.index(SLOT)
                frame = _Frame(tokens[at + 1 :], scale, relation)
                by_opening.setdefault(tokens[:at], []).append(frame)
    return {opening: tuple(frames) for opening, frames in by_opening.items()}


def _form(frame: _Frame, to: str | float) -> Form:
    relations: dict[str, Relation] = {"more": "more", "less": "less", "equal": "equal"}
    relation = relations[frame.relation.removeprefix("!")]
    if relation == "equal" and isinstance(to, float):
        to = int(to)
    form = Compare(frame.scale, relation, to)
    return Not(form) if frame.relation.startswith("!") else form


def _compared(scale: str, words: Tokens, lexicon: Lexicon) -> str | float | None:
    """Return the reference, the concept or the level that a phrase names."""
    spoken = key(words)
    plainly = key(word for word in words if word not in _PLAIN)
    for name in (spoken, plainly):
        if named := lexicon.references[scale].get(name) or lexicon.concepts.get(name):
            return named
    return level(spoken, scale, lexicon.bounds[scale])
