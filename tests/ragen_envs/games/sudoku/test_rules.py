from collections import Counter
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.sudoku.generator import Generator
from ragen_envs.games.sudoku.rules import canonical_form, find_peers, repeats_digit, replace_digit
from tests.cases import examples
from tests.ragen_envs.games.sudoku import reference


def grids(size):
    cells = st.sampled_from(".123456"[: size + 1])
    return st.lists(cells, min_size=size**2, max_size=size**2).map("".join)


any_grid = st.sampled_from([4, 6]).flatmap(grids)


@pytest.mark.parametrize("size", [4, 6])
def test_the_peers_share_a_row_a_column_or_a_box(size):
    for cell, peers in enumerate(find_peers(size)):
        here = divmod(cell, size)
        together = {each for group in reference.groups(size) if here in group for each in group}
        expected = {y * size + x for y, x in together - {here}}
        assert {i for i in range(size**2) if peers >> i & 1} == expected
        assert len(expected) == {4: 7, 6: 12}[size]


@given(any_grid, st.data())
def test_repeated_digits_are_seen(grid, data):
    rows = reference.rows_of(grid)
    cell = data.draw(st.integers(0, len(grid) - 1))
    grid = replace_digit(grid, cell, data.draw(st.sampled_from("1234")))
    rows = reference.rows_of(grid)
    assert repeats_digit(grid, cell) == reference.repeats(rows, *divmod(cell, len(rows)))


@settings(max_examples=examples(16), deadline=None)
@given(grids(4), grids(4))
def test_forms_of_small_grids_are_equal_where_an_image_is(one, other):
    """The orbits are those of trying all 3,072 symmetries."""
    least = [reference.canonical_small(reference.rows_of(grid)) for grid in (one, other)]
    same = "".join(least[0])
    assert canonical_form(one) == canonical_form(same)
    assert (canonical_form(one) == canonical_form(other)) == (least[0] == least[1])


ROWS, COLUMNS = reference.orders(6, 2), reference.orders(6, 3)


@settings(max_examples=examples(60))
@given(
    grids(6), st.sampled_from(ROWS), st.sampled_from(COLUMNS), st.permutations("123456"), st.data()
)
def test_forms_of_large_grids_are_those_of_their_images(grid, by_rows, by_columns, names, data):
    rows = reference.rows_of(grid)
    image = reference.image(rows, by_rows, by_columns, names)
    form = canonical_form(grid)
    assert canonical_form("".join(image)) == form
    # The form is an image itself, so grids of different orbits never share one.
    written = "".join(" 123456."[number] for number in form)
    assert canonical_form(written) == form
    assert Counter(Counter(grid.replace(".", "")).values()) == Counter(
        Counter(written.replace(".", "")).values()
    )
    cell = data.draw(st.integers(0, 35))
    changed = replace_digit(grid, cell, "." if grid[cell] != "." else "1")
    assert canonical_form(changed) != form


def test_the_full_grids_belong_to_one_part_each():
    """Of the 49 different ones, 45 or so are met."""
    puzzles = islice(Generator(6, 1, 1)(RandomStream("full grids")), 600)
    parts = {canonical_form(each.solution): each.part for each in puzzles if each}
    counts = Counter(parts.values())
    most = {"train": 25, "val": 9, "test": 9, "sealed": 6}
    assert all(counts[part] <= number for part, number in most.items())
    assert sum(counts.values()) >= 40
