import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.games.sudoku.rules import EMPTY, replace_digit
from ragen_envs.games.sudoku.solver import find_solutions, is_needed, list_candidates
from tests.cases import examples
from tests.ragen_envs.games.sudoku import reference
from tests.ragen_envs.support import make


def solve(grid, size):
    return sorted(find_solutions(list_candidates(grid, size), size))


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_all_solutions_are_found(data):
    """Of small grids with any digits, most of which contradict each other, or few of them."""
    cells = data.draw(st.lists(st.sampled_from(".....1234"), min_size=16, max_size=16))
    grid = "".join(cells)
    expected = sorted(map("".join, reference.solutions(reference.rows_of(grid))))
    assert solve(grid, 4) == expected


def test_the_empty_small_grid_has_288_solutions():
    assert len(solve(EMPTY * 16, 4)) == 288


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 255), st.sets(st.integers(0, 35), max_size=4), st.sampled_from("123456"))
def test_large_grids_with_digits_taken_out_or_changed(seed, taken, digit):
    env = make("SudokuLarge-v0", split="val")
    env.reset(seed=seed)
    grid = env.grid
    for cell in taken:
        grid = replace_digit(grid, cell, EMPTY)
    for changed in (grid, replace_digit(grid, min(taken, default=0), digit)):
        expected = sorted(map("".join, reference.solutions(reference.rows_of(changed))))
        if len(expected) < 1000:
            assert solve(changed, 6) == expected


@pytest.mark.parametrize("name", reference.SIZES)
def test_a_digit_is_needed_where_others_solve_the_rest(name):
    env, needed = make(name, split="val"), set()
    for seed in range(4):
        env.reset(seed=seed)
        grid = env.grid
        for cell in range(len(grid)):
            if grid[cell] != EMPTY:
                rows = reference.rows_of(replace_digit(grid, cell, EMPTY))
                several = len(reference.solutions(rows, 2)) > 1
                assert is_needed(grid, reference.SIZES[name], cell) == several
                needed.add(several)
    assert needed == {True, False}
