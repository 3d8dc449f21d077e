"""Porter's stemmer, as Lucene's English analysis has it.

M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with the two departures of
the author's own later programs: "bli" becomes "ble" and "logi" becomes "log" in step 2, and words
of up to two letters stay. `v` and `c` below are vowels and consonants; the measure m of a stem is
how often a consonant follows a vowel in it.
"""

from __future__ import annotations

from collections.abc import Mapping

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
    """Return the stem of a word in lower case; what is not a letter a-z counts as a consonant."""
    if len(word) <= 2:
        return word
    word = _step_1c(_step_1b(_step_1a(word)))
    word = _replaced(word, _STEP_2)
    word = _replaced(word, _STEP_3)
    return _step_5(_step_4(word))


def _kinds(word: str) -> str:
    """Return a letter for each of the word's, "v" or "c"; y is a vowel after a consonant."""
    kinds = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and kinds[-1:] == "c")
        kinds += "v" if vowel else "c"
    return kinds


def _measure(word: str) -> int:
    return _kinds(word).count("vc")


def _double_consonant(word: str) -> bool:
    return word[-1:] == word[-2:-1] and _kinds(word).endswith("c")


def _short(word: str) -> bool:
    """Return whether it ends in consonant, vowel, consonant, the last one none of w, x, y."""
    return _kinds(word).endswith("cvc") and word[-1] not in "wxy"


def _ending(word: str, endings: tuple[str, ...]) -> str:
    """Return the first of the endings that the word has, "" if it has none."""
    if not word.endswith(endings):
        return ""
    return next(ending for ending in endings if word.endswith(ending))


def _step_1a(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _step_1b(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    ending = _ending(word, ("ed", "ing"))
    rest = word.removesuffix(ending)
    if not ending or "v" not in _kinds(rest):
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if _double_consonant(rest):
        return rest if rest[-1] in "lsz" else rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _short(rest) else rest


def _step_1c(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and "v" in _kinds(word[:-1]) else word


def _replaced(word: str, rules: Mapping[str, str]) -> str:
    """Replace the longest ending of the rules that it has, if a stem of m > 0 is left."""
    ending = _ending(word, tuple(rules))
    rest = word.removesuffix(ending)
    return rest + rules[ending] if ending and _measure(rest) else word


def _step_4(word: str) -> str:
    ending = _ending(word, _STEP_4)
    rest = word.removesuffix(ending)
    if ending in ("sion", "tion"):  # only "ion" goes
        rest += ending[0]
    return rest if _measure(rest) > 1 else word


def _step_5(word: str) -> str:
    if word.endswith("e"):
        measure = _measure(word)
        if measure > 1 or (measure == 1 and not _short(word[:-1])):
            word = word[:-1]
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word
