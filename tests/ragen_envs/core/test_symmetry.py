import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.symmetry import canonical_grid, crop
from tests.ragen_envs.support import canonical, images


@st.composite
def grids(draw, symbols="ab#"):
    height, width = draw(st.integers(1, 5)), draw(st.integers(2, 5))
    row = st.text(symbols, min_size=width, max_size=width)
    return draw(st.lists(row, min_size=height, max_size=height))


def form(rows, blank=None):
    return canonical_grid("\n".join(crop(rows, blank) if blank else rows))


pieces = grids().filter(lambda rows: set("".join(rows)) != {"#"})


@given(pieces, st.sampled_from([None, "#"]))
def test_all_eight_images_have_one_form(rows, blank):
    assert {form(image, blank) for image in images(rows)} == {form(rows, blank)}


@given(pieces, st.tuples(*[st.integers(0, 3)] * 4))
def test_a_frame_of_blanks_changes_nothing(rows, frame):
    above, below, left, right = frame
    width = len(rows[0]) + left + right
    framed = ["#" * width] * above
    framed += ["#" * left + row + "#" * right for row in rows]
    framed += ["#" * width] * below
    assert form(framed, "#") == form(rows, "#")


@given(grids("ab"), grids("ab"))
def test_different_grids_have_different_forms(first, second):
    assert (form(first) == form(second)) == (canonical(first) == canonical(second))


@given(grids("a#"), grids("a#"))
def test_different_cropped_grids_have_different_forms(first, second):
    if "a" in "".join(first) and "a" in "".join(second):
        same = canonical(first, "#") == canonical(second, "#")
        assert (form(first, "#") == form(second, "#")) == same


@given(grids("ab"), grids("ab"))
def test_images_and_only_images_agree(first, second):
    assert (form(first) == form(second)) == (second in images(first))


@pytest.mark.parametrize(
    ("rows", "blank", "expected"),
    [
        (["ab", "cd"], None, b"2x2:abcd"),
        (["dc", "ba"], None, b"2x2:abcd"),
        (["ba", "dc"], None, b"2x2:abcd"),
        (["cba"], None, b"3x1:abc"),
        (["c", "b", "a"], None, b"3x1:abc"),
        (["###", "#a#", "###"], "#", b"1x1:a"),
        (["###", "#a#", "###"], None, b"3x3:####a####"),
        (["a#", "#a"], "#", b"2x2:#aa#"),
    ],
)
def test_forms(rows, blank, expected):
    assert form(rows, blank) == expected


@pytest.mark.parametrize("rows", [["##", "##"], ["#"], ["###"]])
def test_a_grid_of_blanks_has_a_form(rows):
    assert form(rows, "#") == b"1x1:#"
