from collections import Counter
from functools import cache
from itertools import islice

import pytest

from ragen_envs.core.instances import RandomStream, draw, held_out
from ragen_envs.games.minesweeper.env import VARIANTS
from ragen_envs.games.minesweeper.generator import Generator
from tests.ragen_envs.games.minesweeper import reference
from tests.ragen_envs.support import blocks, canonical, make

NAME = "Minesweeper-v0"
SEEDS = 1_000
LISTED = "; max_layouts=None takes 8"


def form(rows, mines):
    return mines, canonical(rows)


@cache
def shipped(split):
    return [
        (rows, int(figures["mines"]), float(figures["ceiling"]))
        for figures, rows in blocks("minesweeper/openings", f"{NAME}-{split}.txt")
    ]


@cache
def train(seed):
    return draw(VARIANTS[NAME].generator, RandomStream("instance", NAME, "train", seed), "train")


def check(rows, mines):
    """Check what holds of every opening without the package."""
    assert {len(rows), *map(len, rows)} <= {4, 5}
    assert 3 <= mines <= 6
    squares = "".join(rows)
    assert 4 <= squares.count("#") - mines <= 15
    opened = reference.opened_of(rows)
    assert any(rows[y][x] == "0" for y, x in opened)
    for y, x in opened:  # what a zero opens is open
        assert rows[y][x] != "0" or set(reference.around(rows, (y, x))) <= opened


@pytest.mark.parametrize("split", ["val", "test"])
def test_held_out_openings_can_be_played(split):
    for number, (rows, mines, ceiling) in enumerate(shipped(split)):
        check(rows, mines)
        assert 0 < ceiling <= 1
        if number % 4 == 0:
            assert 2 <= len(reference.layouts(rows, mines)) <= 150


@pytest.mark.slow
def test_held_out_ceilings_are_those_of_trying_everything():
    tried = 0
    for rows, mines, ceiling in [*shipped("val"), *shipped("test")][::4]:
        if "".join(rows).count("#") <= 12:
            possible = reference.layouts(rows, mines)
            if len(possible) <= 12:
                assert ceiling == round(float(reference.best(rows, possible)), 9)
                tried += 1
    assert tried > 30


def test_no_opening_is_twice_in_what_is_held_out_nor_trained_on():
    forms = [form(rows, mines) for split in ("val", "test") for rows, mines, _ in shipped(split)]
    assert len(forms) == len(set(forms)) == 512
    taken = set(forms)
    for seed in range(SEEDS):
        opening = train(seed)
        assert opening.part == "train"
        assert form(opening.board.split("\n"), opening.mines) not in taken


def test_train_openings_are_of_all_kinds():
    openings = [train(seed) for seed in range(SEEDS)]
    for opening in openings:
        check(opening.board.split("\n"), opening.mines)
        assert 2 <= len(opening.layouts) <= 150
    kinds = Counter((opening.height, opening.width, opening.mines) for opening in openings)
    assert set(kinds) == {(y, x, m) for y in (4, 5) for x in (4, 5) for m in (3, 4, 5, 6)}
    assert len({opening.digest for opening in openings}) > SEEDS // 2


def test_any_key_seals_as_many_openings_as_are_needed():
    env = make(NAME)
    for key in ("a", "b"):
        openings = held_out(env.generate_instances, NAME, "sealed", set(), key)
        assert len({opening.digest for opening in openings}) == 256
        assert {opening.part for opening in openings} == {"sealed"}


def test_a_generator_is_a_function_of_its_stream():
    def first(*labels):
        return list(islice(Generator()(RandomStream(*labels)), 50))

    assert first("a") == first("a") != first("b")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"min_size": 3}, "sizes go from 4 to 5, got min_size=3 and max_size=5" + LISTED),
        ({"max_size": 6}, "sizes go from 4 to 5, got min_size=4 and max_size=6" + LISTED),
        (
            {"min_size": 5, "max_size": 4},
            "sizes go from 4 to 5, got min_size=5 and max_size=4" + LISTED,
        ),
        (
            {"max_size": 9, "max_layouts": None},
            "sizes go from 4 to 8, got min_size=4 and max_size=9",
        ),
        ({"min_mines": 0}, "mines go from 1 to 7 here, got min_mines=0 and max_mines=6"),
        ({"max_mines": 8}, "mines go from 1 to 7 here, got min_mines=3 and max_mines=8"),
    ],
)
def test_boards_that_there_are_not_are_refused(options, said):
    with pytest.raises(ValueError, match=f"^{said}$"):
        Generator(**options)


def test_a_generator_gives_what_it_is_asked_for():
    small = Generator(max_size=4, min_mines=2, max_mines=2, max_further=0, max_layouts=20)
    found = [opening for opening in islice(small(RandomStream("a")), 400) if opening]
    assert len(found) > 20
    for opening in found:
        assert (opening.height, opening.width, opening.mines) == (4, 4, 2)
        assert len(opening.layouts) <= 20
