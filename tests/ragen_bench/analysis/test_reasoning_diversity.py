"""Diversity, by hand and by its limits."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.analysis.reasoning import compression_ratio, distinct_fraction, measure_diversity


def test_one_template_and_no_template():
    same = measure_diversity(["the box is above me"] * 4)
    assert same["distinct"] == [0.25, 0.25, 0.25]
    assert same["repeated"] == 1
    other = measure_diversity(["a b c", "d e f", "g h i", "j k l"])
    assert other["distinct"] == [1, 1, 1]
    assert (other["repeated"], other["thoughts"]) == (0, 4)
    assert same["compression"] > 2.5 > other["compression"]


@pytest.mark.parametrize(
    ("texts", "n", "expected"),
    [
        (["a b a b"], 1, 0.5),
        (["a b a b"], 2, 0.666667),
        (["a b a b"], 3, 1),
        (["a B", "A b"], 2, 0.5),
        (["a", "b"], 2, None),
        ([""], 1, None),
    ],
)
def test_distinct(texts, n, expected):
    assert distinct_fraction(texts, n) == expected


def test_repeats_are_counted_on_all_sides():
    assert measure_diversity(["x", "x", "y"])["repeated"] == pytest.approx(2 / 3)
    assert measure_diversity(["x"]) is None
    assert measure_diversity([]) is None


@given(st.lists(st.text(st.characters()), min_size=2, max_size=5))
def test_any_texts_are_measured(texts):
    found = measure_diversity(texts)
    assert all(share is None or 0 < share <= 1 for share in found["distinct"])
    assert found["compression"] >= 0


def test_the_ratio_is_that_of_zlib():
    text = b"up and up and up\nup and up and up"
    assert compression_ratio(["up and up and up"] * 2) == len(text) / len(zlib.compress(text, 9))
