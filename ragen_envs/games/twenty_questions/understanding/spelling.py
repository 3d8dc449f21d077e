"""Spelling correction: the word that a misspelled word probably stands for."""

from __future__ import annotations

from functools import cache

from ragen_envs.games.twenty_questions.understanding.lexicon import Lexicon, patterns
from ragen_envs.games.twenty_questions.understanding.tokens import Tokens, data_text, word_set

_SHORTEST = 5
_LONGEST = 16
_LONG = 6

_COMPARED = word_set(
    "bigger larger longer taller smaller shorter heavier lighter weigh weight letter letters "
    "start starts begin contain contains vowel"
)


def corrected_spelling(tokens: Tokens, lexicon: Lexicon) -> Tokens:
    """Return a question with its misspelled words corrected, where the correction is unique.

    Corrections are words of the tables, never names of concepts. A letter may be missing or extra,
    or two may be swapped. A replaced letter too often makes another word ("moose", "mouse").
    """
    return tuple(_correct(token, lexicon) for token in tokens)


def _correct(token: str, lexicon: Lexicon) -> str:
    if _is_word(token, lexicon) or not _SHORTEST <= len(token) <= _LONGEST or not token.isalpha():
        return token
    candidates = {
        word for word in _edits(token) if len(word) >= _SHORTEST and _is_in_tables(word, lexicon)
    }
    return candidates.pop() if len(candidates) == 1 else token


def _is_word(token: str, lexicon: Lexicon) -> bool:
    return token in lexicon.names or token in _words() or _is_in_tables(token, lexicon)


def _is_in_tables(word: str, lexicon: Lexicon) -> bool:
    return word in lexicon.vocabulary or word in _frame_words() or word in _COMPARED


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
def _words() -> frozenset[str]:
    """Return English words that differ from one of the tables by a letter, and are not mistakes."""
    return word_set(data_text("meant.txt"))


@cache
def _frame_words() -> frozenset[str]:
    """Return the words of the frames."""
    frames = [frame for each in patterns().values() for frame in each]
    return frozenset(
        word for frame in frames for part in frame.split() for word in part.strip("()").split("|")
    )
