"""Patterns of the data files, and the phrases that they stand for.

A pattern is written in plain words: "a|b" is one word or the other, "(a b)" may be left out, and
"_" is a slot for a phrase: "is it (mostly) made|built of _" stands for four openings.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from itertools import product
from typing import Any, Generic, TypeVar

from ragen_envs.twenty_questions.understanding.tokens.normalise import Tokens, phrase

SLOT = "_"
_PART = re.compile(r"[()]|[^\s()]+")

Meaning = TypeVar("Meaning")


def data_text(name: str) -> str:
    """Return the text of one of the files in `tables`."""
    path = files("ragen_envs.twenty_questions.understanding").joinpath("tables", name)
    return path.read_text("utf-8")


def data_file(name: str) -> dict[str, Any]:
    """Return what one of the TOML files in `tables` holds."""
    return tomllib.loads(data_text(name))


def expand(pattern: str) -> tuple[Tokens, ...]:
    """Return the token sequences that a pattern stands for."""
    groups: list[list[Tokens]] = [[()]]
    for part in _PART.findall(pattern):
        if part == "(":
            groups.append([()])
        elif part == ")":
            inner = groups.pop()
            groups[-1] = _followed(groups[-1], [*inner, ()])
        else:
            groups[-1] = _followed(groups[-1], _words(part))
    (sequences,) = groups
    return tuple(sequences)


def _followed(before: list[Tokens], after: list[Tokens]) -> list[Tokens]:
    return [(*head, *tail) for head, tail in product(before, after)]


def _words(part: str) -> list[Tokens]:
    words = part.split("|")
    return [(SLOT,) if word == SLOT else tuple(phrase(word).split()) for word in words]


class Phrases(Generic[Meaning]):
    """A table of token sequences in which the longest at a place is looked up."""

    def __init__(self, entries: Iterable[tuple[Tokens, Meaning]]) -> None:
        """Take the entries; of two with the same tokens the first counts."""
        self._meanings: dict[Tokens, Meaning] = {}
        for tokens, meaning in entries:
            self._meanings.setdefault(tokens, meaning)
        self._longest = max(map(len, self._meanings), default=0)

    @classmethod
    def of(cls, patterns: Mapping[Meaning, Iterable[str]]) -> Phrases[Meaning]:
        """Return the table of the patterns of each meaning."""
        return cls(
            (tokens, meaning)
            for meaning, written in patterns.items()
            for each in written
            for tokens in expand(each)
        )

    def at(self, tokens: Tokens, start: int) -> tuple[int, Meaning] | None:
        """Return the end and the meaning of the longest entry that begins at a place."""
        for end in range(min(len(tokens), start + self._longest), start, -1):
            meaning = self._meanings.get(tokens[start:end])
            if meaning is not None:
                return end, meaning
        return None

    def before(self, tokens: Tokens) -> tuple[int, Meaning] | None:
        """Return the start and the meaning of the longest entry that the tokens end with."""
        for start in range(max(0, len(tokens) - self._longest), len(tokens)):
            meaning = self._meanings.get(tokens[start:])
            if meaning is not None:
                return start, meaning
        return None
