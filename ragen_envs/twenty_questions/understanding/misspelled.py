"""Spelling: the word that a misspelled word is probably meant to be."""

from __future__ import annotations

from functools import cache

from ragen_envs.twenty_questions.understanding.frames import patterns
from ragen_envs.twenty_questions.understanding.normalise import Tokens, word_set
from ragen_envs.twenty_questions.understanding.phrases import Lexicon

_SHORTEST = 5
_LONGEST = 16
_LONG = 6

# Words that differ from one of the tables by a letter, and are meant.
_MEANT = word_set(
    "sting stings strip strips father heather plane planes lather cloths closes sales sells heels "
    "pants tones fiends widow lager paces laces inset pines spins batter rinks county lover sever "
    "river topics cover hover rates treats brood prints sprint sprints scares stage shirts pint "
    "dives rings blaze spices species slice trial quite quiet angel angle united untied form from "
    "diary dairy casual causal trail brake break stale slate steal"
)
_COMPARED = word_set(
    "bigger larger longer taller smaller shorter heavier lighter weigh weight letter letters "
    "start starts begin contain contains vowel"
)


def corrected_spelling(tokens: Tokens, lexicon: Lexicon) -> Tokens:
    """Return a question with its misspelled words corrected, where only one word can be meant.

    Only words of the tables are corrected to, never names of concepts, and only where a letter is
    missing, one too many is there, or two have changed places: another letter in its place makes
    other words too often ("moose", "mouse").
    """
    return tuple(_corrected(token, lexicon) for token in tokens)


def _corrected(token: str, lexicon: Lexicon) -> str:
    known = lexicon.vocabulary | _framed() | _COMPARED
    named = token in lexicon.names or token in known or token in _MEANT
    if named or not _SHORTEST <= len(token) <= _LONGEST or not token.isalpha():
        return token
    candidates = {word for word in _changed(token) if word in known and len(word) >= _SHORTEST}
    return candidates.pop() if len(candidates) == 1 else token


def _changed(token: str) -> set[str]:
    """Return the words that differ by a missing letter, one too many, or two that are swapped."""
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
def _framed() -> frozenset[str]:
    """Return the words of the frames."""
    frames = [frame for each in patterns().values() for frame in each]
    return frozenset(
        word for frame in frames for part in frame.split() for word in part.strip("()").split("|")
    )
