from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.games.minesweeper.players import Solver, ceiling, solver
from ragen_envs.games.minesweeper.rules import Opening, open_after, show_board
from tests.cases import examples
from tests.ragen_envs.games.minesweeper import reference
from tests.ragen_envs.games.minesweeper.boards import openings, squares_of


@given(openings())
def test_chances_are_those_of_trying_every_square_every_time(opening):
    rows = opening.board.split("\n")
    best = Solver(opening)
    expected = reference.chances(rows, reference.layouts(rows, opening.mines))
    top = max(expected.values())
    assert best.chance(best.start) == float(top)
    assert ceiling(opening) == round(float(top), 9)
    for (y, x), chance in expected.items():
        square = y * opening.width + x
        assert best._count_wins_by(best.start, square) / best.count(best.start) == float(chance)
    chosen = divmod(best.best_square(best.start), opening.width)
    assert expected[chosen] == top


@given(openings(sizes=((3, 3), (4, 4))))
def test_mines_are_counted_as_by_trying_each_layout(opening):
    rows = opening.board.split("\n")
    best = Solver(opening)
    mined = best.count_mined(best.start)
    found = {
        divmod(square, opening.width): Fraction(count, len(best.start.layouts))
        for square, count in mined.items()
    }
    assert found == reference.risks(rows, opening.mines)


@settings(max_examples=examples(40))
@given(openings(sizes=((3, 3), (3, 4), (4, 4))))
def test_the_best_player_wins_as_many_layouts_as_its_chance_says(opening):
    best = Solver(opening)
    won = 0
    for mines in opening.layouts:
        known = best.start
        while True:
            square = best.best_square(known)
            if mines >> square & 1:
                break
            opened = open_after(opening.neighbours, mines, known.opened, square)
            known = best.after(known, show_board(opening.neighbours, mines, opened), opened)
            if opened.bit_count() + opening.mines == len(opening.neighbours):
                won += 1
                break
    assert best.chance(best.start) == won / len(opening.layouts)


@settings(max_examples=examples(40))
@given(openings(sizes=((3, 3), (3, 4))), st.data())
def test_knowledge_is_what_the_board_allows(opening, data):
    """Whatever was opened before: what is known is what an opening of that board allows."""
    best = Solver(opening)
    mines = data.draw(st.sampled_from(opening.layouts))
    known = best.start
    while closed := [s for s in best.count_mined(known) if not mines >> s & 1]:
        square = data.draw(st.sampled_from(closed))
        opened = open_after(opening.neighbours, mines, known.opened, square)
        board = show_board(opening.neighbours, mines, opened)
        known = best.after(known, board, opened)
        rows = [board[i : i + opening.width] for i in range(0, len(board), opening.width)]
        expected = {
            squares_of(each, opening.width) for each in reference.layouts(rows, opening.mines)
        }
        assert known.opened == opened
        assert known.layouts == tuple(sorted(expected))


@pytest.mark.parametrize(
    ("board", "mines", "chance"),
    [
        ("1#\n1#", 1, 0.5),  # nothing tells the two apart
        ("1##", 1, 1.0),
        ("1#\n##", 1, 1 / 3),
        # The square in the corner is as risky as the others, and shows which one is left.
        ("2#\n##", 2, 1 / 3),
    ],
)
def test_chances_by_hand(board, mines, chance):
    best = Solver(Opening(board, mines))
    assert best.chance(best.start) == chance


def test_recent_solvers_are_kept():
    assert solver(Opening("1##", 1)) is solver(Opening("1##", 1))
