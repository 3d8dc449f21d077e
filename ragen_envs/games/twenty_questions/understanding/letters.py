"""Questions about the letters and the length of the name."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, TypeAlias

from ragen_envs.games.twenty_questions.forms import And, Either, Form, Length, Letter, Not, Relation
from ragen_envs.games.twenty_questions.understanding.tokens import Frames, Tokens, data_file, expand

Place: TypeAlias = Literal["starts", "ends", "contains"]

_PLACES: tuple[Place, ...] = ("starts", "ends", "contains")
_UNITS: dict[str, Literal["letters", "words"]] = {"letter": "letters", "word": "words"}
# Relation and offset of the number, by the amount's name in letters.toml.
_AMOUNTS: dict[str, tuple[Relation, int]] = {
    "more": ("more", 0),
    "at_least": ("more", -1),
    "less": ("less", 0),
    "at_most": ("less", 1),
    "exactly": ("equal", 0),
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
_ANY = ("a", "an", "the", "any", "1", "of")
_AFTER = ("or more", "or fewer", "or less")
_COUNTS = "counts"
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def read_letters(question: Tokens) -> Form | None:
    """Return the form of a question about letters (vowels: a, e, i, o, u) or words, or None."""
    # The shortest phrase first: "a letter" is the question, and not "an A anywhere".
    found = list(_frames().matches(question))[::-1]
    for asked, slot in found:
        if asked == _COUNTS and (form := _count(" ".join(slot))):
            return form
    named = "name" in question or "word" in question
    for place in _PLACES:
        of_name = "name" in question or (named and place != "contains")
        for slot in (slot for asked, slot in found if asked == place):
            if form := _letters(place, slot, of_name):
                return form
    return None


@cache
def _frames() -> Frames[str]:
    """Return the frames of each place of a letter, and those of counts."""
    return Frames(data_file("letters.toml")["frames"])


@cache
def _phrase_meanings(table: str) -> dict[str, str]:
    return {
        " ".join(tokens): meaning
        for meaning, phrases in data_file("letters.toml")[table].items()
        for each in phrases
        for tokens in expand(each)
    }


def _letters(place: Place, slot: Tokens, named: bool) -> Form | None:
    """Return the form of letters; several need "letters", or a question about the name."""
    if asked := _RANGE.fullmatch(" ".join(slot)):  # "between a and m", "before n"
        low, high = asked["low"] or "a", asked["high"] or "z"
        if asked["limit"]:
            before = asked["side"] == "before"
            low, high = ("a", asked["limit"]) if before else (asked["limit"], "z")
        within = [c for c in _ALPHABET if low <= c <= high and c != asked["limit"]]
        return Either(tuple(Letter(place, letter) for letter in within))
    words = slot
    while len(words) > 1 and words[0] in _ANY:
        words = words[1:]
    spoken = " ".join(words)
    if together := _phrase_meanings("sets").get(spoken):
        return Either(tuple(Letter(place, letter) for letter in together))
    if spoken == "consonant" and place != "contains":
        return Not(Either(tuple(Letter(place, letter) for letter in "aeiou")))
    explicit = words[0] in ("letter", "letters", "sequence")
    letters = "".join(words[1:] if explicit else words)
    if not (letters.isascii() and letters.isalpha()) or len(words) > 1 + explicit:
        return None
    alone = len(letters) == 1 or named or (place != "contains" and len(letters) == 2)
    return Letter(place, letters) if alone or explicit else None


def _count(spoken: str) -> Form | None:
    spoken = _phrase_meanings("said").get(spoken, spoken)
    if between := _BETWEEN.fullmatch(spoken):
        low, high, unit = int(between[1]), int(between[2]), _UNITS[between[3]]
        return And((Length(unit, "more", low - 1), Length(unit, "less", high + 1)))
    count = _NUMBER.fullmatch(spoken)
    amounts = _phrase_meanings("amounts")
    if not count or count["before"] not in amounts:
        return None
    after = (count["after"] or count["noun"] or "").strip()
    relation, added = _AMOUNTS[amounts[after if after in _AFTER else count["before"]]]
    return Length(_UNITS[count["unit"]], relation, int(count["number"]) + added)
