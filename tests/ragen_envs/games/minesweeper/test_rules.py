from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.instances import content_hash
from ragen_envs.games.minesweeper.rules import (
    GAME,
    Opening,
    layouts_of,
    members,
    neighbours_of,
    open_after,
    show_board,
    subsets,
    uncover,
)
from tests.ragen_envs.games.minesweeper import reference
from tests.ragen_envs.games.minesweeper.boards import layouts, openings, squares_of
from tests.ragen_envs.support import canonical, images

BOARDS = ((2, 3), (4, 4), (4, 5), (5, 4), (5, 5))


@pytest.mark.parametrize(("height", "width"), BOARDS)
def test_neighbours_are_the_squares_around(height, width):
    rows = ["#" * width] * height
    expected = [
        squares_of(reference.around(rows, place), width) for place in reference.places(rows)
    ]
    assert list(neighbours_of(height, width)) == expected


@given(layouts(sizes=BOARDS))
def test_opening_is_a_plain_flood_fill(drawn):
    rows, mines, squares = drawn
    width = len(rows[0])
    neighbours = neighbours_of(len(rows), width)
    mask, opened, expected = squares_of(mines, width), 0, frozenset()
    for y, x in squares:
        before, opened = opened, open_after(neighbours, mask, opened, y * width + x)
        expected = reference.flooded(rows, mines, expected, (y, x))
        assert opened == squares_of(expected, width)
        board = show_board(neighbours, mask, opened)
        assert board == "".join(reference.drawn(rows, mines, expected))
        fresh = opened & ~before
        assert uncover(neighbours, mask, show_board(neighbours, mask, before), fresh) == board


@given(openings(sizes=((2, 3), (3, 3), (3, 4), (4, 4))))
def test_the_layouts_are_those_of_trying_each(opening):
    rows = opening.board.split("\n")
    expected = {
        squares_of(mines, opening.width) for mines in reference.layouts(rows, opening.mines)
    }
    found = list(layouts_of(opening))
    assert set(found) == expected
    assert len(found) == len(expected)
    assert opening.layouts == tuple(sorted(expected))


@given(openings())
def test_an_opening_says_what_its_rows_say(opening):
    rows = opening.board.split("\n")
    assert (opening.height, opening.width) == (len(rows), len(rows[0]))
    assert opening.opened == squares_of(reference.opened_of(rows), opening.width)
    closed = len(reference.places(rows)) - len(reference.opened_of(rows))
    assert closed > opening.mines


@given(openings(sizes=BOARDS))
def test_digest_and_part_know_no_symmetry(opening):
    rows = opening.board.split("\n")
    for image in images(rows):
        twin = Opening("\n".join(image), opening.mines)
        assert (twin.digest, twin.part) == (opening.digest, opening.part)


@given(openings(), openings())
def test_digests_tell_openings_apart_as_an_independent_form_does(one, other):
    forms = [(opening.mines, canonical(opening.board.split("\n"))) for opening in (one, other)]
    assert (one.digest == other.digest) == (forms[0] == forms[1])


def test_the_digest_is_the_hash_of_mines_and_form():
    assert GAME == "minesweeper"
    expected = content_hash("minesweeper", b"1 mines 2x2:##12")
    assert Opening("2#\n1#", 1).digest == expected != Opening("2#\n1#", 2).digest


@given(st.sets(st.integers(0, 30)))
def test_members_are_in_order(squares):
    assert list(members(sum(1 << square for square in squares))) == sorted(squares)


@given(st.sets(st.integers(0, 30), max_size=7), st.integers(-1, 8))
def test_subsets_are_combinations(squares, size):
    expected = combinations(sorted(squares), size) if size >= 0 else ()
    found = list(subsets(sorted(squares), size))
    assert found == [sum(1 << square for square in chosen) for chosen in expected]
