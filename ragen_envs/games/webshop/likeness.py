"""Comparison of texts: by whole words, and by the original's likeness score."""

from __future__ import annotations

import re

from ragen_envs.core import extras

LIKE = 85
"""Two texts are alike above this score of at most 100."""
_NO_WORD = re.compile(r"\W+")
_LATIN_1 = dict.fromkeys(range(128, 256))


def normal_value(value: str) -> str:
    """Return an option's value in the one way to write it: case, blanks and "/" do not matter."""
    return " ".join(value.lower().replace("/", " | ").split())


def words_of(text: str) -> frozenset[str]:
    """Return the different words of a text in lower case, split at all but letters and digits."""
    return frozenset(_NO_WORD.sub(" ", text.lower()).split())


def same_words(first: str, second: str) -> bool:
    """Return whether all words of one text are in the other.

    These are the pairs of which the original's score is 100: nothing is guessed from letters.
    """
    a, b = words_of(first), words_of(second)
    return bool(a and b) and (a <= b or b <= a)


def alike(first: str, second: str) -> bool:
    """Return whether the original takes two texts for the same: its rounded score is above 85.

    The score is the `token_set_ratio` of the library thefuzz, which drops the upper half of
    Latin-1, parts words by what is not a letter or digit, and rounds to whole numbers.

    Raises:
        ImportError: if RapidFuzz is missing, which computes the score.
    """
    try:
        from rapidfuzz.fuzz import token_set_ratio
    except ImportError:
        raise extras.missing("WebShop's compat mode", "rapidfuzz", "webshop") from None
    a, b = (_NO_WORD.sub(" ", text.translate(_LATIN_1)).lower() for text in (first, second))
    return round(token_set_ratio(a, b)) > LIKE
