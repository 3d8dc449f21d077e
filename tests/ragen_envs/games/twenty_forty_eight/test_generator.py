import pytest

from ragen_envs.core.instances import RandomStream
from ragen_envs.games.twenty_forty_eight.env import TwentyFortyEightEnv
from ragen_envs.games.twenty_forty_eight.generator import Generator
from tests.ragen_envs.games.twenty_forty_eight import reference
from tests.ragen_envs.games.twenty_forty_eight.boards import unpacked
from tests.ragen_envs.support import canonical

NAME = "TwentyFortyEight-v0"


def letters(rows):
    return ["".join(str(tile.bit_length()) for tile in row) for row in rows]


def test_openings_have_their_sum_and_can_be_played():
    env = TwentyFortyEightEnv(NAME)
    openings = [env.get_instance(seed) for seed in range(200)]
    openings += [o for split in ("val", "test") for o in env.load_shipped(NAME, split)]
    for opening in openings:
        rows = unpacked(opening.board, 3)
        assert opening.size == 3
        assert sum(map(sum, rows)) == 48
        assert reference.largest(rows) <= 32
        assert reference.legal(rows)


def test_no_opening_is_twice_in_what_is_held_out_nor_trained_on():
    env = TwentyFortyEightEnv(NAME)
    held_out = [o for split in ("val", "test") for o in env.load_shipped(NAME, split)]
    every = {canonical(letters(unpacked(opening.board, 3))) for opening in held_out}
    assert len(every) == len(held_out) == 512
    for seed in range(300):
        assert canonical(letters(unpacked(env.get_instance(seed).board, 3))) not in every


def test_a_try_whose_sum_steps_over_the_total_gives_none():
    """A 4 where a 2 is missing, or a board that is stuck before."""
    tried = Generator(2, 3, 12)(RandomStream("tries"))
    found = [next(tried) for _ in range(200)]
    assert any(found)
    assert None in found
    for opening in filter(None, found):
        rows = unpacked(opening.board, 2)
        assert sum(map(sum, rows)) == 12
        assert reference.largest(rows) == 4
        assert reference.legal(rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((5,), "size goes from 2 to 4, got 5"),
        ((3, 8), "target goes from 3 to 7, got 8"),
        ((3, 2), "target goes from 3 to 7, got 2"),
        ((3, 6, 47), "total is even and goes from 4 to 126, got 47"),
        ((3, 6, 128), "total is even and goes from 4 to 126, got 128"),
        ((3, 6, 2), "total is even and goes from 4 to 126, got 2"),
    ],
)
def test_generators_that_make_nothing_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Generator(*arguments)
