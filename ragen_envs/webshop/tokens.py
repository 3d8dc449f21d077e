"""The terms that the search knows a text by: Lucene's English analysis.

Words by the breaks of Unicode Standard Annex 29, a possessive's end removed, lower case, no stop
words, Porter's stems. A word of more than 255 characters counts as several. Known difference:
Lucene takes emoji for words, too; here they are none.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from ragen_envs.webshop.porter import stem

STOP_WORDS = frozenset(
    (
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is",
        "it", "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there",
        "these", "they", "this", "to", "was", "will", "with",
    )
)  # fmt: skip
"""The 33 that Lucene leaves out of English texts."""
LONGEST = 255
"""Characters of a word; Lucene cuts longer ones into pieces of so many."""

_POSSESSIVES = ("'s", "\u2019s", "\uff07s")
_JOINTS = ".'\u2018\u2019\u2024\ufe52\uff07\uff0e"
_LETTER_JOINTS = _JOINTS + ":\u00b7\u0387\u05f4\u2027\ufe13\ufe55\uff1a"
_DIGIT_JOINTS = _JOINTS + (
    ",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b"
)
"""What may stand once inside a word, between two letters or between two digits."""
_KATAKANA = "\u30a0-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_SINGLE = (
    "\u3041-\u309f\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Ideographs and Hiragana: each is a word of its own."""
_ZERO_WIDTH_SPACE = 0x200B


def terms(text: str) -> list[str]:
    """Return the terms of a text in their order; any text will do.

    Source: Lucene's EnglishAnalyzer, which WebShop's engine searches with.
    """
    words = (_ASCII if text.isascii() else _UNICODE).findall(text)
    if max(map(len, words), default=0) > LONGEST:
        words = [word[i : i + LONGEST] for word in words for i in range(0, len(word), LONGEST)]
    return list(filter(None, map(_term, words)))


@lru_cache(maxsize=1 << 16)
def _term(word: str) -> str:
    """Return what the search knows a word by; "" for one that it does not."""
    word = word.lower()
    if word.endswith(_POSSESSIVES):
        word = word[:-2]
    return "" if word in STOP_WORDS or not word.strip("_") else stem(word)


def _pattern(marks: str, no_letters: str, alone: str) -> re.Pattern[str]:
    """Return what a word is; the quantifiers are possessive, so the time is linear in the text.

    Args:
        marks: the class of the characters that belong to the one before them.
        no_letters: what Python takes for a letter, and the annex does not.
        alone: further kinds of words, as alternatives.
    """
    more = f"[{marks}]*+" if marks else ""
    letters = rf"(?:[^\W\d_{no_letters}]{more})++"
    digits = rf"(?:\d{more})++"
    joined_letters = rf"{letters}(?:[{_LETTER_JOINTS}]{more}{letters})*+"
    joined_digits = rf"{digits}(?:[{_DIGIT_JOINTS}]{more}{digits})*+"
    return re.compile(rf"(?:{joined_letters}|{joined_digits}|_{more})++{alone}")


def _of_category(*categories: str) -> str:
    """Return the class of the characters of some categories, up to U+FFFF and beyond ASCII."""
    ranges: list[list[int]] = []
    for point in range(0x80, 1 << 16):
        if unicodedata.category(chr(point)) not in categories or point == _ZERO_WIDTH_SPACE:
            continue
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return "".join(f"\\u{first:04x}-\\u{last:04x}" for first, last in ranges)


_ASCII = _pattern("", "", "")
_MARKS = _of_category("Mn", "Mc", "Me", "Cf")
_UNICODE = _pattern(
    _MARKS,
    _of_category("No") + _KATAKANA + _SINGLE,
    rf"|[{_KATAKANA}]++|[{_SINGLE}][{_MARKS}]*+",
)
