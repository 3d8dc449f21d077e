"""Comparisons: the scale, the relation and the reference of a question."""

from __future__ import annotations

import re
from functools import cache

from ragen_envs.games.twenty_questions.forms import Compare, Form, Not, Relation
from ragen_envs.games.twenty_questions.understanding.lexicon import DENIES, Lexicon, key
from ragen_envs.games.twenty_questions.understanding.measures import level
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


def read_comparison(question: Tokens, lexicon: Lexicon) -> Form | None:
    """Return the comparison in a question, or None.

    A measure stands for its level, or for the bound between two. A size equal to a bound is on the
    level that ends there. A thing that fits into another is not bigger.
    """
    for (scale, relation), words in _frames().matches(question):
        to = _read_object(scale, words, lexicon)
        if to is not None:
            return _form(scale, relation, to)
    return None


@cache
def _frames() -> Frames[tuple[str, str]]:
    """Return the frames of each scale and relation, as comparisons.toml has them."""
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


def _form(scale: str, asked: str, to: str | float) -> Form:
    relation = _RELATIONS[asked.removeprefix(DENIES)]
    if relation == "equal" and isinstance(to, float):
        to = int(to)
    form = Compare(scale, relation, to)
    return Not(form) if asked.startswith(DENIES) else form


def _read_object(scale: str, words: Tokens, lexicon: Lexicon) -> str | float | None:
    """Return the reference, the concept or the level that a phrase names."""
    spoken = key(words)
    plainly = key(word for word in words if word not in _PLAIN)
    for name in (spoken, plainly):
        if named := lexicon.references[scale].get(name) or lexicon.concepts.get(name):
            return named
    return level(spoken, scale, lexicon.bounds[scale])
