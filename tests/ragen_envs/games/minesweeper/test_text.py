"""Pictures of Minesweeper show its squares, its two numbers, and nothing beyond a small board."""

import numpy as np
import pytest

from ragen_envs.core.boards import PIXELS, Board, picture
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import random_answer
from ragen_envs.games.minesweeper.text import MINES, TILES, TO_OPEN, tile_numbers
from tests.ragen_envs.games.minesweeper.test_env import read
from tests.ragen_envs.support import make


def square(pixels, row, column):
    return pixels[PIXELS * row :, PIXELS * column :][:PIXELS, :PIXELS].tobytes()


def test_numbers_of_a_board_that_is_smaller_than_the_largest():
    assert tile_numbers("01#*8#", 3, 4) == bytes(
        [0, 1, 9, 11, 10, 8, 9, 11, 11, 11, 11, 11, 11, 11, 11, 11]
    )
    meanings = [tile.meaning for tile in TILES]
    assert meanings[9:] == ["closed", "a mine that you opened", "no square at all"]
    assert meanings[:9] == [f"{digit} around it" for digit in range(9)]


@pytest.mark.parametrize("name", ["Minesweeper-v0", "MinesweeperLarge-v0"])
def test_a_symbol_has_one_look_and_no_two_look_alike(name):
    looks, heads = {}, {}
    env = make(name, split="test", render_mode="rgb_array", response_format="plain")
    for seed in range(80):
        state, stream = env.reset(seed=seed)[0].split("\n\n")[1], RandomStream("look", seed)
        while True:
            pixels, (rows, mines) = env.render(), read(state.replace("*", "#"))
            assert pixels.shape == (*env.board.pixels, 3)
            lines = state.split("\n")
            shown = [line.split()[1:] for line in lines[2:]]
            for y in range(env.board.height):
                for x in range(env.board.width):
                    inside = y < len(rows) and x < len(rows[0])
                    symbol = shown[y][x] if inside else "nothing"
                    look = square(pixels, y + 2, x)
                    assert looks.setdefault(symbol, look) == look
            numbers = mines, int(lines[0].rpartition(": ")[2].rstrip("."))
            for row, number in enumerate(numbers):
                for place, digit in enumerate(f"{number:02}", 1):
                    look = square(pixels, row, place)
                    assert heads.setdefault(digit, look) == look
            if not env.legal_actions:
                break
            state = env.step(random_answer(env, stream))[0].partition("\n")[2]
    assert len({*looks.values()}) == len(looks)
    assert {*looks} >= {*"01234#*"} | ({"nothing"} if name == "Minesweeper-v0" else set())
    assert len({*heads.values()}) == len(heads) >= 8


def test_each_number_stands_beside_its_sign():
    board = Board(1, 4, TILES, (), (MINES, TO_OPEN))
    one, other = (picture(board, b"\0\1\2\3", counts) for counts in ((10, 47), (47, 10)))
    assert one.shape == (3 * PIXELS, 4 * PIXELS, 3)
    assert square(one, 0, 0) == square(other, 0, 0) != square(one, 1, 0)
    for place in (1, 2):
        assert square(one, 0, place) == square(other, 1, place) != square(one, 1, place)
    assert square(one, 0, 3) == square(one, 1, 3)
    assert (one[2 * PIXELS :] == other[2 * PIXELS :]).all()
    digits = {
        square(picture(board, b"\0" * 4, (n, n)), 0, place) for n in range(100) for place in (1, 2)
    }
    assert len(digits) == 10


def test_a_name_of_no_square_costs_what_it_costs_as_text():
    env = make("Minesweeper-v0", observation="array", split="test")
    observation, info = env.reset(seed=0)
    assert "E1" not in info["legal_actions"]
    again, reward, *_, told = env.step(env.action_of(["E1"]))
    assert (reward, told["action_is_valid"], told["action_is_effective"]) == (-0.1, False, False)
    assert (again["board"] == observation["board"]).all()
    assert again["counts"].tolist() == observation["counts"].tolist() == [3, 7]
    assert again["left"].tolist() == [19, 20]


def test_the_oracle_plays_in_arrays():
    env = make("MinesweeperLarge-v0", observation="array", split="test")
    won = 0
    for seed in range(20):
        env.reset(seed=seed)
        over = False
        while not over:
            observation, _, terminated, truncated, info = env.step(env.best_action())
            over = terminated or truncated
        assert info["success"] == (observation["counts"][1] == 0)
        assert np.flatnonzero(observation["board"][10]).size == (not info["success"])
        won += info["success"]
    assert 12 <= won < 20
