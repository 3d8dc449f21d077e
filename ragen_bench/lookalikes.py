"""Names that strangers choose: letters and signs that are taken for others are found in them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ragen_bench.reading import read_toml

HIDDEN = (
    r"[\u0000-\u001f\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f"
    r"\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ud800-\uf8ff\ufe00-\ufe0f\ufeff"
    r"\uffa0\ufff9-\ufffb]"
)
"""Invisible characters, and those that look like a space."""
_LETTERS = "ÆæŒœØøÐðÞþŁłĐđĦħŊŋŦŧẞßƏəƐɛƆɔƁɓƊɗƘƙƳƴ"
"""Letters of Latin alphabets that have no simpler form. Those of phonetics are not among them."""
_SMALL_GREEK = set("αγεικνστυχω")
"""Letters of formulas, which readers tell from Latin ones, except inside a Latin word."""
_EAST = re.compile("CJK|HIRAGANA|KATAKANA|HANGUL|IDEOGRAPHIC|BOPOMOFO").match
_APART = {"LATIN", "CYRILLIC", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"}
"""Scripts with letters that look like Latin ones; no word mixes them with Latin."""
_INVISIBLE = re.compile("VARIATION SELECTOR|COMBINING GRAPHEME JOINER").match
_WORDS = re.compile(r"(?:[^\W0-9_]|\N{IDEOGRAPHIC NUMBER ZERO})+")


def find_lookalike(name: str) -> str:
    """Return why a name is taken for another one, as the end of a sentence about it, or ""."""
    if name.isascii():
        return ""
    if not unicodedata.is_normalized("NFC", name):
        return "has letters with separate marks; write each as one character (NFC)"
    return next(_list_problems(name), "")


def _list_problems(name: str) -> Iterator[str]:
    for before, character in zip(f" {name}", name, strict=False):
        kind = unicodedata.category(character)
        if kind in ("Cc", "Cf", "Co", "Cs") or _INVISIBLE(unicodedata.name(character, "")):
            yield "has invisible characters"
        plain = unicodedata.normalize("NFKC", character)
        is_sign = kind[0] in "PS" and character != "™"
        if plain != character and (kind[0] == "L" or kind == "Nd" or (is_sign and plain.isascii())):
            yield _explain(character, plain)
        elif is_sign and (like := _looks_like(character)):
            yield _explain(character, like, "signs")
        elif kind[0] == "L" and _script(character) == "LATIN" and not _is_plain_latin(character):
            yield _explain(character, _looks_like(character))
        elif kind == "Mn" and unicodedata.combining(character) == 1:  # a stroke over the letter
            yield _explain(character)
        elif kind[0] == "M" and not _is_of_other_script(before) and _looks_like(character):
            yield _explain(character, _looks_like(character), "signs")
    for word in _WORDS.findall(name):
        if problem := _check_word(word, name):
            yield problem


def _check_word(word: str, name: str) -> str:
    """Find letters that look Latin: in a word with Latin ones, or as all letters of a word."""
    letters = [each for each in word if unicodedata.category(each)[0] in "LN"]
    east = [each for each in letters if _EAST(unicodedata.name(each, ""))]
    if (
        east
        and all(map(_looks_like, east))
        and (any(each.isascii() and each.isalnum() for each in name) or not _has_others(name))
    ):
        return _explain(east[0], _looks_like(east[0]))
    rest = [each for each in letters if each not in east]
    scripts = {_script(each) for each in rest}
    alike = [
        each
        for place, each in enumerate(rest)
        if _script(each) != "LATIN"
        and _looks_like(each)
        and (each not in _SMALL_GREEK or _is_enclosed(rest, place))
    ]
    is_mixed = "LATIN" in scripts and (alike or len(scripts & _APART) > 1)
    if is_mixed or (rest and len(alike) == len(rest) and not _is_number(rest, name)):
        found = alike[0] if alike else next(x for x in rest if _script(x) in _APART - {"LATIN"})
        return _explain(found, _looks_like(found))
    return ""


def _is_enclosed(letters: list[str], place: int) -> bool:
    around = letters[place - 1 : place] + letters[place + 1 : place + 2]
    return len(around) == 2 and all(_script(each) == "LATIN" for each in around)


def _is_number(word: list[str], name: str) -> bool:
    """Return whether a word is a number in the digits of the script that the name is in."""
    are_digits = all(unicodedata.category(each) == "Nd" for each in word)
    has_latin = any(each.isascii() and each.isalnum() for each in name)
    return are_digits and not has_latin and _has_others(name)


def _has_others(name: str) -> bool:
    """Return whether a name has a letter that looks like none of ASCII."""
    return any(each.isalpha() and not each.isascii() and not _looks_like(each) for each in name)


def _is_of_other_script(letter: str) -> bool:
    return letter.isalpha() and _script(letter) != "LATIN"


def _is_plain_latin(letter: str) -> bool:
    base = unicodedata.normalize("NFD", letter)[0]
    return base.isascii() or base in _LETTERS


def _looks_like(character: str) -> str:
    """Return the character of ASCII that another one is taken for, or ""."""
    if unicodedata.category(character) == "Pd" and character != "-":
        return "-"
    return "" if character.isascii() else _table().get(character, "")


def _script(character: str) -> str:
    return "LATIN" if character.isascii() else unicodedata.name(character, "").partition(" ")[0]


def _explain(character: str, like: str = "", what: str = "letters") -> str:
    instead = f"; write {like} instead" if like else ""
    return f"has {what} that look like others: U+{ord(character):04X}{instead}"


@cache
def _table() -> dict[str, str]:
    content = read_toml(Path(__file__).with_name("lookalikes.toml"))
    return {each: like for like, characters in content.items() for each in characters}
