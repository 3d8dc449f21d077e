"""Questions about the letters and the length of the name."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, TypeAlias

from ragen_envs.twenty_questions.forms import And, Either, Form, Length, Letter, Not
from ragen_envs.twenty_questions.understanding.tokens.normalise import Tokens
from ragen_envs.twenty_questions.understanding.tokens.patterns import SLOT, expand

Place: TypeAlias = Literal["starts", "ends", "contains"]

_FRAMES: dict[Place, tuple[str, ...]] = {
    "starts": (
        "does it|word|name start|begin|commence|open with|by|in _",
        "is its|the first|initial|starting letter (of) (it|word|name) _",
        "does it|word|name have _ as (its|the) first|initial letter",
        "is _ its|the first|initial letter (of) (it|word|name)",
        "is the letter (that) it|word|name starts|begins with _",
        "is _ the letter (that|which) it|word|name starts|begins with",
        "is _ at the beginning|start|front of it|word|name",
        "is there _ at the beginning|start of it|word|name",
        "does its|the first letter (of it|word|name) come _",
    ),
    "ends": (
        "does it|word|name end|finish|terminate|close in|with|on|by _",
        "is its|the last|final letter (of) (it|word|name) _",
        "does it|word|name have _ as (its|the) last|final letter",
        "is _ its|the last|final letter (of) (it|word|name)",
        "is there _ at the end of it|word|name",
        "is _ the letter (that|which) it|word|name ends|finishes with|in",
        "is _ at the end of it|word|name",
    ),
    "contains": (
        "does it|word|name have|contain|include|use|feature _",
        "does it|word|name have|contain|include|use|feature _ in it|word|name",
        "does it|word|name have|contain|include|use _ somewhere|anywhere (in it|word|name)",
        "is there _ in|inside|within it|word|name",
        "is _ (found|present|contained|included|used) in it|word|name",
        "is _ somewhere|anywhere in it|word|name",
        "is there _ somewhere|anywhere in it|word|name",
        "is _ part|1 of it|word|name",
        "is _ part|1 of its|the letters",
        "does people find|see|use|need _ in|for it|word|name",
        "does _ appear|occur in it|word|name",
        "is it|word|name spelled|spelt|written with _",
        "does people spell|write it|word|name with _",
    ),
}
_COUNTS = (
    "does it|word|name have|contain|include|use|comprise _",
    "does it|word|name have|contain _ in it|word|name",
    "does it|word|name consist of _",
    "is it|word|name _",
    "is it|word|name _ long|(in) length",
    "is it|word|name a|an _ long",
    "is it|word|name a word|name of|with _",
    "is it|word|name made|composed (up) of|from _",
    "is it|word|name written|spelled|spelt with|in|as _",
    "is there _ in|to it|word|name",
    "is the number of letters|words (in) (it|word|name) _",
    "does it|word|name have a length of _",
    "is the length of it|word|name _",
)
_RELATIONS = {
    "more than": ("more", 0),
    "over": ("more", 0),
    "above": ("more", 0),
    "greater than": ("more", 0),
    "longer than": ("more", 0),
    "at least": ("more", -1),
    "no fewer than": ("more", -1),
    "no less than": ("more", -1),
    "less than": ("less", 0),
    "fewer than": ("less", 0),
    "under": ("less", 0),
    "below": ("less", 0),
    "shorter than": ("less", 0),
    "at most": ("less", 1),
    "up to": ("less", 1),
    "no more than": ("less", 1),
    "no longer than": ("less", 1),
    "exactly": ("equal", 0),
    "precisely": ("equal", 0),
    "just": ("equal", 0),
    "only": ("equal", 0),
    "equal to": ("equal", 0),
    "": ("equal", 0),
    "a": ("equal", 0),
    "an": ("equal", 0),
}
_AFTER = {"or more": ("more", -1), "or fewer": ("less", 1), "or less": ("less", 1)}
_WORDS = {
    "a single word": "1 word",
    "single word": "1 word",
    "a word": "",
    "several words": "more than 1 word",
    "multiple words": "more than 1 word",
    "many words": "",
    "a single": "1 word",
    "1 single word": "1 word",
}
_NUMBER = re.compile(
    r"(?P<before>[a-z ]*?) ?(?P<number>\d{1,2})(?P<after> or more| or fewer| or less)?"
    r" (?P<unit>letter|word)s?"
    r"(?P<noun> word| name| term| phrase| long| or more| or fewer| or less)?"
)
_BETWEEN = re.compile(r"between (\d{1,2}) and (\d{1,2}) (letter|word)s")
_RANGE = re.compile(
    r"(?:a |the )?(?:letter )?(?:that is )?(?:(?:between|from|in the range) (?P<low>[a-z])"
    r" (?:and|to|through) (?P<high>[a-z])"
    r"|(?P<side>before|after) (?:the letter )?(?P<limit>[b-y]))(?: in the alphabet)?"
)
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"
_SETS = {
    "vowel": "aeiou",
    "in first half of alphabet": _ALPHABET[:13],
    "in second half of alphabet": _ALPHABET[13:],
    "letter in first half of alphabet": _ALPHABET[:13],
    "letter in second half of alphabet": _ALPHABET[13:],
    "letter from first half of alphabet": _ALPHABET[:13],
    "letter from second half of alphabet": _ALPHABET[13:],
}


def read_letters(question: Tokens) -> Form | None:
    """Return what a question asks of letters or words of the name, None if it asks something else.

    A vowel is one of a, e, i, o and u.

    Args:
        question: in the plain order; its subject may be "word" or "name".
    """
    for slot in _slots(question, "counts"):
        if form := _count(" ".join(slot)):
            return form
    named = "name" in question or "word" in question
    for place in _FRAMES:
        for slot in _slots(question, place):
            if form := _letters(place, slot, "name" in question or (named and place != "contains")):
                return form
    return None


def _slots(question: Tokens, table: Place | Literal["counts"]) -> list[Tokens]:
    frames = _openings(table)
    return [
        question[start:end]
        for start in range(2, len(question))
        for tail in frames.get(question[:start], ())
        for end in (len(question) - len(tail),)
        if start < end and question[end:] == tail
    ]


@cache
def _openings(table: Place | Literal["counts"]) -> dict[Tokens, list[Tokens]]:
    tails: dict[Tokens, list[Tokens]] = {}
    for frame in _COUNTS if table == "counts" else _FRAMES[table]:
        for tokens in expand(frame):
            at = tokens.index(SLOT)
            tails.setdefault(tokens[:at], []).append(tokens[at + 1 :])
    return tails


def _letters(place: Place, slot: Tokens, named: bool) -> Form | None:
    """Return what letters in a place mean.

    More than one letter needs the word "letters", or that the question speaks of the name.
    """
    if alphabet := _RANGE.fullmatch(" ".join(slot)):
        return _range(place, alphabet)
    words = [word for word in slot[:-1] if word not in ("a", "an", "the", "any", "1", "of")]
    words.append(slot[-1])
    spoken = " ".join(words)
    if spoken in _SETS:
        return Either(tuple(Letter(place, letter) for letter in _SETS[spoken]))
    if spoken == "consonant" and place != "contains":
        return Not(Either(tuple(Letter(place, letter) for letter in "aeiou")))
    explicit = words[0] in ("letter", "letters", "sequence")
    letters = "".join(words[1:] if explicit else words)
    if not (letters.isascii() and letters.isalpha()) or len(words) > 1 + explicit:
        return None
    alone = len(letters) == 1 or named or (place != "contains" and len(letters) == 2)
    return Letter(place, letters) if alone or explicit else None


def _range(place: Place, asked: re.Match[str]) -> Form:
    """Return what letters of a range mean ("between a and m", "before n")."""
    low, high = asked["low"] or "a", asked["high"] or "z"
    if asked["limit"]:
        before = asked["side"] == "before"
        low, high = ("a", asked["limit"]) if before else (asked["limit"], "z")
    letters = [c for c in _ALPHABET if low <= c <= high and c != asked["limit"]]
    return Either(tuple(Letter(place, letter) for letter in letters))


def _count(spoken: str) -> Form | None:
    spoken = _WORDS.get(spoken, spoken)
    if between := _BETWEEN.fullmatch(spoken):
        low, high, unit = int(between[1]), int(between[2]), _unit(between[3])
        return And((Length(unit, "more", low - 1), Length(unit, "less", high + 1)))
    count = _NUMBER.fullmatch(spoken)
    if not count or count["before"] not in _RELATIONS:
        return None
    after = (count["after"] or count["noun"] or "").strip()
    relation, off = _AFTER.get(after) or _RELATIONS[count["before"]]
    return Length(_unit(count["unit"]), _relation(relation), int(count["number"]) + off)


def _unit(word: str) -> Literal["letters", "words"]:
    return "letters" if word == "letter" else "words"


def _relation(word: str) -> Literal["more", "less", "equal"]:
    return "more" if word == "more" else "less" if word == "less" else "equal"
