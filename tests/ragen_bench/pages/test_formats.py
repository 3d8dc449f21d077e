import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.pages.formats import (
    by_measure,
    figure,
    fixed,
    percent,
    place,
    short,
    words,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567, "1,234,567"),
        (0, "0"),
        (0.0, "0.00"),
        (0.01234, "0.0123"),
        (0.00008, "0.00008"),
        (0.00001234, "0.0000123"),
        (1.5e-7, "1.5e−07"),  # noqa: RUF001
        (1.5, "1.50"),
        (-2.25, "−2.25"),  # noqa: RUF001
        (12345.6, "12,346"),
        (None, "–"),  # noqa: RUF001
        ("a text", "a text"),
        (True, "True"),
    ],
)
def test_figures(value, text):
    assert figure(value) == text


def test_rates_and_names():
    assert (percent(0.46875), percent(-0.06), percent(-0.0001)) == ("46.9", "−6.0", "0.0")  # noqa: RUF001
    assert percent(None) == fixed(None) == "–"  # noqa: RUF001
    assert fixed(-0.0444, 3) == "−0.044"  # noqa: RUF001
    assert fixed(-0.0004, 3) == "0.000"
    assert short("ragen/Bandit-v0") == "Bandit-v0"
    assert short("Bandit-v0") == "Bandit-v0"
    assert words("invalid_format") == "invalid format"


@given(st.floats(0, 1), st.floats(-5, 0), st.floats(1, 5))
def test_a_place_is_proportional(share, low, high):
    value = low + share * (high - low)
    assert float(place(value, 12, 296, low, high)) == pytest.approx(12 + 296 * share, abs=0.006)
    assert float(place(value, 120, -100, low, high)) == pytest.approx(120 - 100 * share, abs=0.006)


def test_beyond_the_axis_is_its_end():
    assert place(-3, 12, 296) == "12"
    assert place(7, 12, 296) == "308"


def test_measures_of_several_environments():
    rows = [
        {"words": 3, "plans": {"agree": 1, "differ": None}, "distinct": [0.5, 0.25], "none": None},
        {"words": None, "plans": {"agree": 2, "differ": 0}, "distinct": None},
    ]
    assert by_measure(rows) == {
        "words": [3, None],
        "plans: agree": [1, 2],
        "distinct 1": [0.5, None],
        "distinct 2": [0.25, None],
        "plans: differ": [None, 0],
    }
