"""Patterns of the data files, and the phrases that they stand for.

A pattern is written in plain words: "a|b" is one word or the other, "(a b)" may be left out, and
"_" is a slot for a phrase: "is it (mostly) made|built of _" stands for four openings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Generic, TypeVar

from ragen_envs.games.twenty_questions.understanding.tokens.normalise import Tokens, phrase

SLOT = "_"
_PART = re.compile(r"[()]|[^\s()]+")

Meaning = TypeVar("Meaning")


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


class Frames(Generic[Meaning]):
    """A table of what opens a question and what ends it, around the phrase in the slot."""

    def __init__(self, patterns: Mapping[Meaning, Iterable[str]]) -> None:
        """Take the patterns of each meaning, each of them with one slot."""
        self._ends: dict[Tokens, dict[Tokens, dict[Meaning, None]]] = {}
        for meaning, written in patterns.items():
            for tokens in (tokens for each in written for tokens in expand(each)):
                at = tokens.index(SLOT)
                ends = self._ends.setdefault(tokens[:at], {})
                ends.setdefault(tokens[at + 1 :], {})[meaning] = None
        self._longest_opening = max(map(len, self._ends))
        self._longest_end = max(len(end) for ends in self._ends.values() for end in ends)

    def matches(self, question: Tokens) -> Iterator[tuple[Meaning, Tokens]]:
        """Yield the meanings that a question may have, each with the phrase in its slot.

        The longest phrase comes first, as it says more exactly what is meant than a frame with a
        part of it: "swim in water" is an ability, and not a place.
        """
        fitting = [
            (start - end, meaning, question[start:end])
            for start in range(min(self._longest_opening + 1, len(question)))
            if (ends := self._ends.get(question[:start]))
            for end in range(max(start + 1, len(question) - self._longest_end), len(question) + 1)
            for meaning in ends.get(question[end:], ())
        ]
        for _, meaning, words in sorted(fitting, key=lambda frame: frame[0]):
            yield meaning, words
