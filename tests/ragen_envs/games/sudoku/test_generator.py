from collections import Counter
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.instances import RandomStream, draw
from ragen_envs.games.sudoku.env import VARIANTS
from ragen_envs.games.sudoku.generator import Generator
from ragen_envs.games.sudoku.rules import canonical_form
from tests.cases import examples
from tests.ragen_envs.games.sudoku import reference
from tests.ragen_envs.support import blocks, chi_square, make, rare

EMPTY = {"Sudoku-v0": range(2, 12), "SudokuLarge-v0": range(12, 27)}
SEEDS = 120
names = st.sampled_from(list(EMPTY))


@cache
def shipped(name, split):
    found = blocks("sudoku/puzzles", f"{name}-{split}.txt")
    return [(rows, fields["solution"]) for fields, rows in found]


@cache
def train(name, seed):
    return draw(VARIANTS[name].generator, RandomStream("instance", name, "train", seed), "train")


def check(name, rows, solution):
    """Check what holds of every puzzle without the package."""
    assert ["".join(found) for found in reference.solutions(rows, 2)] == [solution]
    assert "".join(rows).count(".") in EMPTY[name]
    assert len(rows) == reference.SIZES[name]


@pytest.mark.parametrize("split", ["val", "test"])
@pytest.mark.parametrize("name", EMPTY)
def test_held_out_puzzles_have_exactly_one_solution(name, split):
    assert len(shipped(name, split)) == 256
    for rows, solution in shipped(name, split):
        check(name, rows, solution)


@settings(max_examples=examples(100), deadline=None)
@given(names, st.integers(0, 1 << 62))
def test_generated_puzzles_have_exactly_one_solution(name, seed):
    puzzle = train(name, seed)
    check(name, reference.rows_of(puzzle.givens), puzzle.solution)
    assert puzzle.part == "train"
    assert puzzle.empty == puzzle.givens.count(".")


@pytest.mark.parametrize("name", EMPTY)
def test_no_puzzle_is_held_out_twice_or_trained_on(name):
    env = make(name)
    held = [puzzle for split in ("val", "test") for puzzle in env.load_shipped(name, split)]
    digests = {puzzle.digest for puzzle in held}
    assert len(digests) == 512
    trained = {train(name, seed).digest for seed in range(SEEDS)}
    assert not digests & trained
    assert len(trained) > SEEDS // 2


def test_no_small_puzzle_is_in_two_splits():
    """Up to symmetry, by trying all 3,072 images of some of them."""
    forms = {
        split: {
            str(reference.canonical_small(rows)) for rows, _ in shipped("Sudoku-v0", split)[:16]
        }
        for split in ("val", "test")
    }
    assert [len(forms[split]) for split in ("val", "test")] == [16, 16]
    assert not forms["val"] & forms["test"]


def test_no_large_solution_is_in_two_splits():
    forms = {
        split: {canonical_form(solution) for _, solution in shipped("SudokuLarge-v0", split)}
        for split in ("val", "test")
    }
    seeds = range(SEEDS)
    forms["train"] = {canonical_form(train("SudokuLarge-v0", seed).solution) for seed in seeds}
    assert len(forms["val"] | forms["test"] | forms["train"]) == sum(map(len, forms.values()))
    assert min(map(len, forms.values())) >= 6


@pytest.mark.parametrize("size", [4, 6])
def test_each_number_of_empty_cells_is_equally_likely(size):
    generator = Generator(size, 4, 9)
    counts = Counter()
    for seed in range(600):
        puzzle = next(filter(None, generator(RandomStream("numbers", size, seed))))
        counts[puzzle.empty] += 1
    assert sorted(counts) == [4, 5, 6, 7, 8, 9]
    assert chi_square([counts[number] for number in range(4, 10)], [1] * 6) < rare(5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((5,), "size is 4 or 6, got 5"),
        ((4, 2, 12), "go from 1 to 11 here, got min_empty=2 and max_empty=12"),
        ((6, 0, 26), "go from 1 to 26 here, got min_empty=0 and max_empty=26"),
        ((6, 9, 8), "go from 1 to 26 here, got min_empty=9 and max_empty=8"),
    ],
)
def test_sizes_that_give_no_puzzles_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Generator(*arguments)
