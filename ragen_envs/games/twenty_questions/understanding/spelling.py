"""The correction of misspelled words."""

from __future__ import annotations

from functools import cache

from ragen_envs.games.twenty_questions.understanding.lexicon import Lexicon
from ragen_envs.games.twenty_questions.understanding.tokens import (
    Tokens,
    data_file,
    data_text,
    word_set,
)

_SHORTEST_CORRECTED = 5
_LONGEST_CORRECTED = 16
_LONG = 6
_COMPARED = word_set(
    "bigger larger longer taller smaller shorter heavier lighter weigh weight letter letters "
    "start starts begin contain contains vowel"
)


def correct_spelling(tokens: Tokens, lexicon: Lexicon) -> Tokens:
    """Return a question with its misspelled words corrected, where the correction is unique.

    Corrections are words of the tables, never names of concepts. A letter may be missing or extra,
    or two may be swapped. A replaced letter too often makes another word ("moose", "mouse").
    """
    return tuple(_correct(token, lexicon) for token in tokens)


def _correct(token: str, lexicon: Lexicon) -> str:
    tables = (lexicon.vocabulary, _frame_words(), _COMPARED)
    is_word = any(token in words for words in (lexicon.names, _meant_words(), *tables))
    if (
        is_word
        or not _SHORTEST_CORRECTED <= len(token) <= _LONGEST_CORRECTED
        or not token.isalpha()
    ):
        return token
    candidates = {
        edit
        for edit in _edits(token)
        if len(edit) >= _SHORTEST_CORRECTED and any(edit in words for words in tables)
    }
    return candidates.pop() if len(candidates) == 1 else token


def _edits(token: str) -> set[str]:
    """Return the words with a letter added or dropped, or two neighbours swapped."""
    places = range(len(token))
    swapped = {token[:i] + token[i : i + 2][::-1] + token[i + 2 :] for i in places}
    dropped = {token[:i] + token[i + 1 :] for i in places}
    added = {
        token[:i] + letter + token[i:]
        for i in range(len(token) + 1)
        for letter in "abcdefghijklmnopqrstuvwxyz"
        if len(token) + 1 >= _LONG
    }
    return swapped | dropped | added


@cache
def _meant_words() -> frozenset[str]:
    """Return English words that differ from one of the tables by a letter, and are not mistakes."""
    return word_set(data_text("meant.txt"))


@cache
def _frame_words() -> frozenset[str]:
    parts = (
        part
        for each in data_file("frames.toml").values()
        for frame in each
        for part in frame.split()
    )
    return frozenset(word for part in parts for word in part.strip("()").split("|"))
