from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ragen_envs.games.minesweeper.counting import Layouts, component
from ragen_envs.games.minesweeper.env import MinesweeperEnv
from ragen_envs.games.minesweeper.players import Solver
from ragen_envs.games.minesweeper.rules import Opening, neighbours_of, open_after, show_board
from tests.cases import examples
from tests.ragen_envs.games.minesweeper import reference
from tests.ragen_envs.games.minesweeper.boards import openings, squares_of

SMALL = ((2, 3), (3, 3), (3, 4), (4, 4), (2, 6))


def board_of(opening):
    return Layouts(opening.neighbours, opening.board.replace("\n", ""), opening.mines)


@given(openings(sizes=SMALL))
def test_layouts_are_counted_as_by_trying_each(opening):
    rows = opening.board.split("\n")
    found = board_of(opening).counts()
    assert found.total == len(reference.layouts(rows, opening.mines))
    risks = {
        divmod(square, opening.width): Fraction(count, found.total)
        for square, count in found.mined.items()
    }
    assert risks == reference.risks(rows, opening.mines)
    assert list(found.mined) == sorted(found.mined)


@given(openings(sizes=SMALL))
def test_the_ranks_give_each_layout_once(opening):
    rows = opening.board.split("\n")
    board = board_of(opening)
    drawn = Counter(board.layout(rank) for rank in range(board.counts().total))
    expected = [squares_of(each, opening.width) for each in reference.layouts(rows, opening.mines)]
    assert drawn == dict.fromkeys(expected, 1)


@pytest.mark.parametrize("split", ["val", "test"])
def test_counts_on_the_small_boards_are_those_of_their_listed_layouts(split):
    """Up to six mines on 5x5, with squares that no digit touches, and several components."""
    rest = several = 0
    for opening in MinesweeperEnv.load_shipped("Minesweeper-v0", split):
        best, board = Solver(opening), board_of(opening)
        assert board.counts() == (best.count(best.start), best.count_mined(best.start))
        ranked = {board.layout(rank) for rank in range(best.count(best.start))}
        assert ranked == set(opening.layouts)
        rest += board._rest > 0
        several += len(board._components) > 1
    assert rest > 60
    assert several > 10


@st.composite
def large_boards(draw):
    """Draw an 8x8 board with ten mines on which some squares are open."""
    neighbours = neighbours_of(8, 8)
    order = draw(st.permutations(range(64)))
    mines = sum(1 << square for square in order[:10])
    opened = 0
    for square in order[10 : 10 + draw(st.integers(1, 12))]:
        opened = open_after(neighbours, mines, opened, square)
    squares = show_board(neighbours, mines, opened)
    assume("#" in squares)
    rows = "\n".join(squares[i : i + 8] for i in range(0, 64, 8))
    return mines, Opening(rows, 10)


@settings(max_examples=examples(60))
@given(large_boards(), st.data())
def test_counts_on_large_boards_hold_together(drawn, data):
    mines, opening = drawn
    board = board_of(opening)
    total, mined = board.counts()
    assert sum(mined.values()) == 10 * total
    assert all(0 <= count <= total for count in mined.values())
    for square, count in mined.items():
        assert count or not mines >> square & 1
        assert count < total or mines >> square & 1
    rank = data.draw(st.integers(0, total - 1))
    layout = board.layout(rank)
    assert layout.bit_count() == 10
    assert show_board(opening.neighbours, layout, opening.opened) == opening.board.replace("\n", "")
    assert (board.layout(min(rank + 1, total - 1)) == layout) == (rank == total - 1)
    if total <= 3000:
        assert {board.layout(rank) for rank in range(total)} == set(opening.layouts)


def test_a_component_by_hand():
    """Two digits of 1 that share the middle one of three boxes, of 2, 1 and 3 squares."""
    found = component(((0b000111, 1), (0b111100, 1)))
    assert sorted(found.boxes) == [0b000011, 0b000100, 0b111000]
    # One mine in the middle, or one of two and one of three.
    assert found.ways == (0, 1, 6, 0, 0, 0, 0)
    by_box = dict(zip(found.boxes, found.mined, strict=True))
    assert by_box[0b000100] == (0, 1, 0, 0, 0, 0, 0)
    assert by_box[0b000011] == by_box[0b111000] == (0, 0, 6, 0, 0, 0, 0)
