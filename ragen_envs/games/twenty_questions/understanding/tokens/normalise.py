"""Normalisation: a text as sentences of small plain words, however it is written."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from ragen_envs.games.twenty_questions.understanding.tokens.data import data_file

Tokens: TypeAlias = tuple[str, ...]

LONGEST_TEXT = 1000
"""Characters of the longest text that is read; what is longer is not one question."""

_MARKUP = re.compile(r"<[^<>]*>|\([^()]*\)|\[[^\[\]]*\]")
_TOKEN = re.compile(r"[^\W_]+(?:'[^\W_]+)?|[.!?;\n,:]")
_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'", "`": "'", "\u00b4": "'"})
_SIGNS = str.maketrans({"/": " or ", "&": " and ", "\u2026": ".", "\u2014": ",", "\u2013": ","})

_ABBREVIATIONS = {"i.e.": ", ie ", "e.g.": ", eg ", "etc.": " "}
_TABLES = data_file("spelling.toml")
_SPELLING: dict[str, str] = {
    **{word: str(number) for number, word in enumerate(_TABLES["numbers"].split())},
    **_TABLES["words"],
}
_WHOLE: dict[str, str] = _TABLES["whole"]
_ENDINGS: dict[str, str] = _TABLES["endings"]
_ARE_SOMETHING = {"it", "that", "this", "what", "he", "she", "there", "who", "answer", "guess"}


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a text.

    Attributes:
        tokens: its words in small letters, without contractions, and its commas.
        asked: whether it ends with a question mark.
    """

    tokens: Tokens
    asked: bool


def sentences(text: str) -> tuple[Sentence, ...]:
    """Return the sentences of a text, none if it is longer than `LONGEST_TEXT`.

    Case, accents, markup, brackets, quotation marks and hyphens do not matter, nor do contractions
    and British or American spelling. Numbers up to twenty become digits.
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
            words.extend(_spelled(token))
    return tuple(ended)


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


def without_commas(tokens: Tokens) -> Tokens:
    """Return the words among tokens."""
    return tuple(token for token in tokens if token != ",")


@cache
def phrase(text: str) -> str:
    """Return a phrase of the data files as questions have it, without commas."""
    return " ".join(t for sentence in sentences(text) for t in without_commas(sentence.tokens))


def _plain(text: str) -> str:
    if text.isascii() and text.isprintable():
        letters = text.translate(_QUOTES).lower()
    else:
        letters = _without_accents(text)
    for short, spelled in _ABBREVIATIONS.items():
        letters = letters.replace(short, spelled)
    return _MARKUP.sub(" ", letters).translate(_SIGNS)


def _without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.translate(_QUOTES)).casefold()
    visible = "".join(c if c.isprintable() or c == "\n" else " " for c in decomposed)
    return "".join(c for c in visible if not unicodedata.combining(c))


def _spelled(token: str) -> list[str]:
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
