import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.fuzz import token_set_ratio

from ragen_envs.games.webshop.reward import COLOURS, alike, first_colour, same_words, words_of

TEXTS = st.lists(
    st.sampled_from(["machine", "wash", "washable", "easy", "clean", "7", "5", "-"])
).map(" ".join)


@given(TEXTS, TEXTS)
def test_the_same_words_are_what_scores_100(first, second):
    """RapidFuzz is the reference; both texts without a word are nothing to it."""
    clean = [text.replace("-", " ") for text in (first, second)]
    assert same_words(first, second) == (token_set_ratio(*clean) == 100)
    if same_words(first, second):
        assert alike(first, second)


def common(first, second):
    """Length of the longest common subsequence, the slow way."""
    if not first or not second:
        return 0
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            table[i + 1][j + 1] = (
                table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
            )
    return table[-1][-1]


def by_hand(first, second):
    """The score from its definition: the best of three comparisons of sorted words."""
    a, b = words_of(first), words_of(second)
    if not a or not b:
        return 0
    shared = " ".join(sorted(a & b))
    with_a = f"{shared} {' '.join(sorted(a - b))}".strip()
    with_b = f"{shared} {' '.join(sorted(b - a))}".strip()
    pairs = [(with_a, with_b)]
    if shared:
        pairs += [(shared, with_a), (shared, with_b)]
    return max(round(100 * 2 * common(x, y) / (len(x) + len(y))) for x, y in pairs)


@given(TEXTS, TEXTS)
def test_alike_is_the_definition(first, second):
    assert alike(first, second) == (by_hand(first, second) > 85)


@pytest.mark.parametrize(
    ("first", "second", "score", "like"),
    [
        # "machine wash" (12) and "machine washable" (16) share 12 letters: 24 / 28.
        ("machine wash", "machine washable", 86, True),
        # "of pack 3" and "of pack 4" (9) share 8 letters: 16 / 18.
        ("pack of 3", "pack of 4", 89, True),
        # "wash machine" (12) and "wash hand" (9) share "wash " and 2 letters: 14 / 21.
        ("machine wash", "hand wash", 67, False),
        ("7", "7.5", 100, True),
        ("Caf\u00e9 Noir", "caf noir", 100, True),
        ("\u00e9", "\u00e9", 0, False),  # nothing is left of either
        ("", "x", 0, False),
    ],
)
def test_known_pairs(first, second, score, like):
    if "\u00e9" not in first:
        assert by_hand(first, second) == score
    assert alike(first, second) is alike(second, first) is like


def test_half_a_percent_above_85_is_not_above_it():
    """85.37 counts as 85: 70 common letters of 82 + 82."""
    first, second = "a" * 70 + "b" * 12, "a" * 70 + "c" * 12
    assert token_set_ratio(first, second) > 85
    assert not alike(first, second)


def test_words_are_told_from_letters():
    assert not same_words("machine wash", "machine washable")
    assert not same_words("pack of 3", "pack of 4")
    assert same_words("Easy-Clean", "easy clean")
    assert same_words("easy clean", "easy clean surface")
    assert not same_words("", "")
    assert not same_words("", "easy")


@pytest.mark.parametrize(
    ("where", "colour"),
    [
        ("navy blue", "blue"),
        ("navy", "navy"),
        ("standard", "tan"),
        ("fashion", "ash"),
        ("large", None),
        (("color", "navy blue"), None),
        (("color", "navy"), "navy"),
    ],
)
def test_first_colours(where, colour):
    assert first_colour(where) == colour


def test_there_are_the_colours_of_the_original():
    assert len(COLOURS) == len(set(COLOURS)) == 102
    assert list(COLOURS) == sorted(COLOURS)


def test_a_missing_library_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "rapidfuzz.fuzz", None)
    assert same_words("a", "a")
    with pytest.raises(ImportError, match=r"^WebShop's compat mode needs .*ragen-bench\[webshop\]"):
        alike("a", "a")
