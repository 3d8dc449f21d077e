"""Texts as plain words, and the patterns of the tables that match them.

A pattern is written in plain words: "a|b" is one word or the other, "(a b)" is optional, and "_" is
a slot for a phrase. So "is it (mostly) made|built of _" stands for four openings.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Generic, TypeAlias, TypeVar

from ragen_envs.games.twenty_questions.knowledge.schema import Toml

Tokens: TypeAlias = tuple[str, ...]
LONGEST_TEXT = 1000
"""Most characters of a text that is read; a longer one is not a single question."""
_MARKUP = re.compile(r"<[^<>]*>|\([^()]*\)|\[[^\[\]]*\]")
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)?|[.!?;\n,:]")
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'", "`": "'", "\u00b4": "'"})
_SIGNS = str.maketrans({"/": " or ", "&": " and ", "\u2026": ".", "\u2014": ",", "\u2013": ","})
_ABBREVIATIONS = {"i.e.": ", ie ", "e.g.": ", eg ", "etc.": " "}
_ARE_SOMETHING = {"it", "that", "this", "what", "he", "she", "there", "who", "answer", "guess"}
SLOT = "_"
_PART = re.compile(r"[()]|[^\s()]+")
Meaning = TypeVar("Meaning")


def data_text(name: str) -> str:
    """Return the text of one of the files in `tables`."""
    path = files("ragen_envs.games.twenty_questions.understanding").joinpath("tables", name)
    return path.read_text("utf-8")


@cache
def data_file(name: str) -> Toml:
    """Return the contents of one of the TOML files in `tables`."""
    return tomllib.loads(data_text(name))


_TABLES = data_file("spelling.toml")
_SPELLING: dict[str, str] = {
    **{word: str(number) for number, word in enumerate(_TABLES["numbers"].split())},
    **_TABLES["words"],
}
_WHOLE: dict[str, str] = _TABLES["whole"]
_ENDINGS: dict[str, str] = _TABLES["endings"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence: its commas and its words in lower case without contractions, and its kind."""

    tokens: Tokens
    asked: bool  # it ends with a question mark


def sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a text, none if it is longer than `LONGEST_TEXT`.

    Case, accents, markup, brackets, quotation marks, hyphens, contractions and British or American
    spelling do not matter. Numbers up to twenty become digits.
    """
    if len(text) > LONGEST_TEXT:
        return ()
    ended: list[Sentence] = []
    words: list[str] = []
    for token in [*_TOKEN.findall(_plain(text)), "."]:
        if token in ".!?;\n":
            if any(word != "," for word in words):
                ended.append(Sentence(tuple(words), token == "?"))
            words = []
        elif token in ",:":
            words.append(",")
        else:
            words.extend(_expand_token(token))
    return tuple(ended)


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


def without_commas(tokens: Tokens) -> Tokens:
    """Return the words among tokens."""
    return tuple(token for token in tokens if token != ",")


@cache
def phrase(text: str) -> str:
    """Return a phrase of the tables as questions have it, without commas."""
    return " ".join(t for sentence in sentences(text) for t in without_commas(sentence.tokens))


def _plain(text: str) -> str:
    if text.isascii() and text.isprintable():
        letters = text.translate(_QUOTES).lower()
    else:
        decomposed = unicodedata.normalize("NFKD", text.translate(_QUOTES)).casefold()
        visible = "".join(c if c.isprintable() or c == "\n" else " " for c in decomposed)
        letters = "".join(c for c in visible if not unicodedata.combining(c))
    for short, spelled in _ABBREVIATIONS.items():
        letters = letters.replace(short, spelled)
    return _MARKUP.sub(" ", letters).translate(_SIGNS)


def _expand_token(token: str) -> list[str]:
    if token in _WHOLE:
        return _WHOLE[token].split()
    stem, _, ending = token.partition("'")
    if token.endswith("n't"):
        return [token.removesuffix("n't"), "not"]
    if ending in _ENDINGS:
        return [stem, _ENDINGS[ending]]
    if ending == "s" and stem in _ARE_SOMETHING:
        return [stem, "is"]
    return [_SPELLING.get(stem, stem)]


def expand(pattern: str) -> tuple[Tokens, ...]:
    """Return the token sequences that a pattern stands for."""
    groups: list[list[Tokens]] = [[()]]
    for part in _PART.findall(pattern):
        if part == "(":
            groups.append([()])
            continue
        if part == ")":
            after = [*groups.pop(), ()]
        else:
            words = part.split("|")
            after = [(SLOT,) if word == SLOT else tuple(phrase(word).split()) for word in words]
        groups[-1] = [(*head, *tail) for head, tail in product(groups[-1], after)]
    (sequences,) = groups
    return tuple(sequences)


class Phrases(Generic[Meaning]):
    """A table of token sequences with their meanings, matched longest first."""

    def __init__(self, patterns: Mapping[Meaning, Iterable[str]]) -> None:
        """Store the patterns of each meaning; the first of two with the same tokens counts."""
        self._meanings: dict[Tokens, Meaning] = {}
        for meaning, written in patterns.items():
            for tokens in (tokens for each in written for tokens in expand(each)):
                self._meanings.setdefault(tokens, meaning)
        self._longest = max(map(len, self._meanings), default=0)

    def at(self, tokens: Tokens, start: int) -> tuple[int, Meaning] | None:
        """Return the end and the meaning of the longest entry that begins at an index."""
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
    """A table of openings and ends of questions, around the phrase in the slot."""

    def __init__(self, patterns: Mapping[Meaning, Iterable[str]]) -> None:
        """Store the patterns of each meaning, each with one slot."""
        self._ends: dict[Tokens, dict[Tokens, dict[Meaning, None]]] = {}
        for meaning, written in patterns.items():
            for tokens in (tokens for each in written for tokens in expand(each)):
                at = tokens.index(SLOT)
                ends = self._ends.setdefault(tokens[:at], {})
                ends.setdefault(tokens[at + 1 :], {})[meaning] = None
        self._longest_opening = max(map(len, self._ends))
        self._longest_end = max(len(end) for ends in self._ends.values() for end in ends)

    def matches(self, question: Tokens) -> Iterator[tuple[Meaning, Tokens]]:
        """Yield the possible meanings of a question, each with the phrase in its slot.

        The longest phrase comes first, since it is more precise than a frame that contains
        a part of it: "swim in water" is an ability, and not a place.
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
