from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ragen_envs.games.twenty_forty_eight import solver
from ragen_envs.games.twenty_forty_eight.env import TwentyFortyEightEnv
from ragen_envs.games.twenty_forty_eight.rules import ACTIONS
from ragen_envs.games.twenty_forty_eight.solver import WON, player_of
from tests.cases import examples
from tests.ragen_envs.games.twenty_forty_eight import reference
from tests.ragen_envs.games.twenty_forty_eight.boards import boards, packed

ROUNDING = 4
"""Maximum loss by rounding down, in each of the means over new tiles and once more."""


def rated(rows, target, moves_left):
    player = player_of(len(rows), target.bit_length() - 1)
    return {
        ACTIONS[action]: rating for action, rating in player.rate(packed(rows), moves_left).items()
    }


def agree(ratings, chances):
    assert list(ratings) == list(chances)
    for action, chance in chances.items():
        assert 0 <= chance * WON - ratings[action] < ROUNDING


@settings(max_examples=examples(60))
@given(boards(sizes=(2,), largest=3), st.integers(1, 3))
def test_the_last_moves_are_rated_exactly(rows, moves_left):
    assume(reference.legal(rows))
    agree(rated(rows, 16, moves_left), reference.chances(rows, 16, moves_left))


@settings(max_examples=examples(10))
@given(boards(sizes=(3,), largest=3), st.integers(1, 2))
def test_the_last_two_moves_on_nine_squares(rows, moves_left):
    assume(reference.legal(rows))
    agree(rated(rows, 16, moves_left), reference.chances(rows, 16, moves_left))


def estimate(target):
    """Return the estimate of a board, from its description."""

    def line(tiles):
        full = [tile.bit_length() - 1 for tile in tiles if tile]
        value = 4_000 * tiles.count(0) + 100_000 * sum(3**n for n in full) // 3**target
        for a, b in pairwise(full):
            value += 6_000 * a if a == b else -2_000 * abs(a - b)
        return value

    def value(rows):
        columns = [list(column) for column in zip(*rows, strict=True)]
        total = 600_000 + sum(map(line, rows)) + sum(map(line, columns))
        return Fraction(min(max(total, 1), WON - 1), WON)

    return value


@settings(max_examples=examples(30))
@given(boards(sizes=(2,), largest=4), st.integers(4, 9))
def test_earlier_moves_are_rated_by_an_estimate_two_new_tiles_ahead(rows, moves_left):
    assume(reference.legal(rows))
    expected = reference.chances(rows, 32, moves_left, estimate(5), solver.DEPTH)
    agree(rated(rows, 32, moves_left), expected)


@settings(max_examples=examples(30))
@given(boards(sizes=(3, 4), largest=5), st.integers(1, 24))
def test_the_best_move_has_the_best_rating(rows, moves_left):
    assume(reference.legal(rows))
    ratings = rated(rows, 64, moves_left)
    assert list(ratings) == reference.legal(rows)
    best = player_of(len(rows), 6).find_best(packed(rows), moves_left)
    assert ACTIONS[best] == next(a for a, r in ratings.items() if r == max(ratings.values()))


def test_a_move_that_wins_is_certain():
    rows = [[32, 0, 0], [32, 2, 0], [0, 0, 2]]
    assert rated(rows, 64, 1) == {"Up": WON, "Right": 0, "Down": WON, "Left": 0}


@pytest.mark.slow
def test_the_reference_scores_what_is_stated():
    """To within four standard errors."""
    env = TwentyFortyEightEnv("TwentyFortyEight-v0", response_format="plain")
    won = 0
    for seed in range(10_000, 10_400):
        env.start_episode(seed)
        while env.is_running:
            env.play_turn(env.find_best_actions()[0])
        won += env.success
    expected = env.variant.expected
    assert abs(won / 400 - expected) < 4 * (expected * (1 - expected) / 400) ** 0.5
