"""The page of a comparison."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.pages.comparison import format_signed, render_comparison

FIGURES = {"a": 0.5, "b": 0.25, "difference": 0.25, "interval": [0.1, 0.4], "detectable": 0.3}
RUN = {"model": "m", "run": "r", "episodes": 4, "planned": 4}


@pytest.mark.parametrize(
    ("value", "scale", "text"),
    [
        (0.1234, 100, "+12.3"),
        (-0.1234, 100, "\N{MINUS SIGN}12.3"),
        (-0.0004, 100, "+0.0"),
        (0.004, 1, "+0.00"),
        (-0.004, 1, "+0.00"),
        (-0.126, 1, "\N{MINUS SIGN}0.13"),
    ],
)
def test_differences_have_signs(value, scale, text):
    assert format_signed(value, scale) == text


@given(st.permutations([True, False, True]))
def test_each_row_says_whether_it_compares_returns(told):
    """Success may be told in one pair of runs and not in another."""
    comparisons = [
        {"split": "test", "constrained": False, "notes": [], "suite": {}, "envs": [row(success)]}
        for success in told
    ]
    runs = [{**RUN, "name": letter} for letter in "ABCD"]
    page = render_comparison({"runs": runs, "comparisons": comparisons})
    rows = re.findall('class="text inner">(.)(.*?)</th>', page)
    assert [(letter, "returns" in rest) for letter, rest in rows] == [
        (letter, not success) for letter, success in zip("BCD", told, strict=True)
    ]


def row(success):
    compared = {"success": FIGURES} if success else {"success": None, "return": FIGURES}
    ahead = {"a_ahead": 1, "b_ahead": 0}
    return {"env": "x/Y-v0", "instances": 4, **ahead, "normalised": None, **compared}
