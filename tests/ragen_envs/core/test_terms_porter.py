import re

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.terms import stem

SNOWBALL = Stemmer.Stemmer("porter")
ENDINGS = re.findall(
    r"\w+",
    "ational ization iveness fulness ousness tional biliti entli ousli ation alism aliti iviti "
    "enci anci izer alli ator eli icate ative alize iciti ical ness ful ement ance ence able "
    "ible ment sion tion ant ent ism ate iti ous ive ize al er ic ou sses ies ss s eed ed ing y "
    "e ll",
)
WORDS = st.tuples(
    st.text("abcdefilnoprstuyz", min_size=1, max_size=7),
    st.lists(st.sampled_from(ENDINGS), max_size=3).map("".join),
).map("".join)


@given(WORDS)
def test_agrees_with_a_second_stemmer(word):
    """But for the departures: words of two letters, and "bli" and "logi" in step 2."""
    if len(word) > 2 and not re.search("bl[iy]|log[iy]", word):
        assert stem(word) == SNOWBALL.stemWord(word)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("xs", "xs"),  # a size, not "x"
        ("is", "is"),
        ("possibly", "possibl"),
        ("technology", "technolog"),
        ("caresses", "caress"),
        ("ponies", "poni"),
        ("feed", "feed"),
        ("agreed", "agre"),
        ("hopping", "hop"),
        ("falling", "fall"),
        ("filing", "file"),
        ("fizzed", "fizz"),
        ("playing", "plai"),
        ("relational", "relat"),
        ("vietnamization", "vietnam"),
        ("adoption", "adopt"),
        ("controll", "control"),
        ("rate", "rate"),
        ("cease", "ceas"),
        ("dresses", "dress"),
        ("washable", "washabl"),
        ("7.5", "7.5"),
    ],
)
def test_known_stems(word, expected):
    """The paper's own examples, the departures, and words of the shop."""
    assert stem(word) == expected


@given(st.text(max_size=30))
def test_any_text_has_a_stem_that_starts_like_it(word):
    """An ending is replaced by at most two letters, or by none."""
    found = stem(word.lower())
    assert len(found) <= len(word.lower()) + 1
    assert word.lower().startswith(found[:-2])
