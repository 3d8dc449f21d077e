"""The terms of the search: Lucene's English analysis.

Words are split by the breaks of Unicode Standard Annex 29. Then a possessive's end is removed, the
word is put in lower case, stop words are dropped, and Porter's stemmer is applied. A word of more
than 255 characters counts as several. An emoji is a word.

The stemmer: M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with the two
departures of the author's own later programs: "bli" becomes "ble" and "logi" becomes "log" in
step 2, and words of up to two letters stay. `v` and `c` below are vowels and consonants; the
measure m of a stem is the number of times that a consonant follows a vowel in it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

STOP_WORDS = frozenset(
    (
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is",
        "it", "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there",
        "these", "they", "this", "to", "was", "will", "with",
    )
)  # fmt: skip
"""The 33 words that Lucene drops from English texts."""
LONGEST = 255
"""Most characters of a word; Lucene splits longer ones into pieces of this length."""

_POSSESSIVES = ("'s", "\u2019s", "\uff07s")
_JOINTS = ".'\u2018\u2019\u2024\ufe52\uff07\uff0e"
_LETTER_JOINTS = _JOINTS + ":\u00b7\u0387\u05f4\u2027\ufe13\ufe55\uff1a"
_DIGIT_JOINTS = _JOINTS + (
    ",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b"
)
"""Characters that may occur once inside a word, between two letters or between two digits."""
_KATAKANA = "\u30a0-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d"
_VOICING = "\uff9e\uff9f"
"""Halfwidth marks of Katakana: letters in Python, marks of the preceding character in the annex."""
_SINGLE = (
    "\u3041-\u309f\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Ideographs and Hiragana: each is a word of its own."""
_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u2388\u23cf"
    "\u23e9-\u23f3\u23f8-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2605"
    "\u2607-\u2612\u2614-\u2685\u2690-\u2705\u2708-\u2712\u2714\u2716\u271d\u2721\u2728"
    "\u2733\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763-\u2767\u2795-\u2797"
    "\u27a1\u27b0\u27bf\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297"
    "\u3299\U0001f000-\U0001f0ff\U0001f10d-\U0001f10f\U0001f12f\U0001f16c-\U0001f171"
    "\U0001f17e\U0001f17f\U0001f18e\U0001f191-\U0001f19a\U0001f1ad-\U0001f1e5"
    "\U0001f201-\U0001f20f\U0001f21a\U0001f22f\U0001f232-\U0001f23a\U0001f23c-\U0001f23f"
    "\U0001f249-\U0001f3fa\U0001f400-\U0001f53d\U0001f546-\U0001f64f\U0001f680-\U0001f6ff"
    "\U0001f774-\U0001f77f\U0001f7d5-\U0001f7ff\U0001f80c-\U0001f80f\U0001f848-\U0001f84f"
    "\U0001f85a-\U0001f85f\U0001f888-\U0001f88f\U0001f8ae-\U0001f8ff\U0001f90c-\U0001f93a"
    "\U0001f93c-\U0001f945\U0001f947-\U0001fffd"
)
"""Extended_Pictographic of Unicode 12.1, except the letter U+2139."""
_SKIN_TONES = "\U0001f3fb-\U0001f3ff"
_JOINER = "\u200d"
_ZERO_WIDTH_SPACE = 0x200B


def terms(text: str) -> list[str]:
    """Return the terms of any text in order, by the EnglishAnalyzer of Lucene, as in WebShop."""
    words = (_ASCII if text.isascii() else _UNICODE).findall(text)
    if max(map(len, words), default=0) > LONGEST:
        words = [word[i : i + LONGEST] for word in words for i in range(0, len(word), LONGEST)]
    return list(filter(None, map(_term, words)))


@lru_cache(maxsize=1 << 16)
def _term(word: str) -> str:
    word = word.lower()
    if word.endswith(_POSSESSIVES):
        word = word[:-2]
    return "" if word in STOP_WORDS or not word.strip("_") else stem(word)


def _pattern(marks: str, no_letters: str, alone: str) -> re.Pattern[str]:
    """Return the pattern of a word, linear in the text: nothing after a group can fail.

    No group is possessive, since before Python 3.11.5 such ones match too little (CPython issue
    106052).

    The marks are the class of the characters that belong to the preceding one. `no_letters` are
    letters in Python and not in the annex, and `alone` holds alternatives for other kinds of words.
    """
    more = f"[{marks}]*+" if marks else ""
    letters = rf"(?:[^\W\d_{no_letters}]{more})+"
    digits = rf"(?:\d{more})+"
    joined_letters = rf"{letters}(?:[{_LETTER_JOINTS}]{more}{letters})*"
    joined_digits = rf"{digits}(?:[{_DIGIT_JOINTS}]{more}{digits})*"
    return re.compile(rf"(?:{joined_letters}|{joined_digits}|_{more})+{alone}")


def _of_category(*categories: str) -> str:
    """Return the class of the characters of Unicode categories, beyond ASCII and up to U+FFFF."""
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
_MARKS = _of_category("Mn", "Mc", "Me", "Cf") + _VOICING
_ONE_EMOJI = f"[{_EMOJI}][{_MARKS}{_SKIN_TONES}]*+"
_UNICODE = _pattern(
    _MARKS,
    _of_category("No") + _KATAKANA + _VOICING + _SINGLE,
    rf"|(?:[{_KATAKANA}][{_MARKS}]*+)+|[{_SINGLE}][{_MARKS}]*+"
    rf"|{_ONE_EMOJI}(?:(?<={_JOINER}){_ONE_EMOJI})*",
)


_STEP_2 = {
    "ational": "ate", "ization": "ize", "iveness": "ive", "fulness": "ful", "ousness": "ous",
    "tional": "tion", "biliti": "ble", "entli": "ent", "ousli": "ous", "ation": "ate",
    "alism": "al", "aliti": "al", "iviti": "ive", "enci": "ence", "anci": "ance", "izer": "ize",
    "alli": "al", "ator": "ate", "logi": "log", "bli": "ble", "eli": "e",
}  # fmt: skip
_STEP_3 = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ness": "", "ful": "",
}  # fmt: skip
_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "sion", "tion", "ant", "ent", "ism", "ate",
    "iti", "ous", "ive", "ize", "al", "er", "ic", "ou",
)  # fmt: skip


def stem(word: str) -> str:
    """Return the stem of a word in lower case; other characters than a-z count as consonants."""
    if len(word) <= 2:
        return word
    if word.endswith(("sses", "ies")):  # step 1a
        word = word[:-2]
    elif word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    word = _step_1b(word)
    if word.endswith("y") and "v" in _kinds(word[:-1]):  # step 1c
        word = word[:-1] + "i"
    word = _replace(_replace(word, _STEP_2), _STEP_3)
    ending = _ending(word, _STEP_4)
    rest = word.removesuffix(ending)
    if ending in ("sion", "tion"):  # only "ion" goes
        rest += ending[0]
    if _measure(rest) > 1:
        word = rest
    if word.endswith("e"):  # step 5
        measure = _measure(word)
        if measure > 1 or (measure == 1 and not _short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _kinds(word: str) -> str:
    """Return "v" or "c" for each letter; y is a vowel after a consonant."""
    kinds = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and kinds[-1:] == "c")
        kinds += "v" if vowel else "c"
    return kinds


def _measure(word: str) -> int:
    return _kinds(word).count("vc")


def _short(word: str) -> bool:
    """Return whether the word ends in consonant, vowel, consonant, the last not w, x or y."""
    return _kinds(word).endswith("cvc") and word[-1] not in "wxy"


def _ending(word: str, endings: tuple[str, ...]) -> str:
    """Return the first of the endings that the word has, "" if it has none."""
    if not word.endswith(endings):
        return ""
    return next(ending for ending in endings if word.endswith(ending))


def _step_1b(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    ending = _ending(word, ("ed", "ing"))
    rest = word.removesuffix(ending)
    if not ending or "v" not in _kinds(rest):
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if rest[-1:] == rest[-2:-1] and _kinds(rest).endswith("c"):  # a double consonant
        return rest if rest[-1] in "lsz" else rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _short(rest) else rest


def _replace(word: str, rules: Mapping[str, str]) -> str:
    """Replace the longest ending of the rules that leaves a stem of m > 0."""
    ending = _ending(word, tuple(rules))
    rest = word.removesuffix(ending)
    return rest + rules[ending] if ending and _measure(rest) else word
