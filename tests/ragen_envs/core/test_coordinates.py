from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.boards import coordinates_of


def test_places_by_hand():
    assert coordinates_of(5, 3) == ("(0, 0)", "(0, 1)", "(0, 2)", "(1, 0)", "(1, 1)")


@given(st.integers(1, 9), st.integers(1, 9))
def test_each_square_has_its_row_and_column(rows, stride):
    named = [f"({y}, {x})" for y in range(rows) for x in range(stride)]
    assert list(coordinates_of(rows * stride, stride)) == named
