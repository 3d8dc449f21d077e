"""Pictures show what the texts say: a square of one meaning always looks the same."""

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import RecordEpisodeStatistics
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.boards import PIXELS, Board, Tile, coordinates_of, picture, planes
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import random_answer
from ragen_envs.games.bandit_multi_pull.env import MultiPullEnv
from ragen_envs.making import board_ids
from tests.ragen_envs.core.test_views_arrays import CUBE, meanings, rows
from tests.ragen_envs.support import FROZEN_LAKE, SOKOBAN, make, state_in


def test_planes_and_pixels_of_a_board_of_two_squares():
    dark = Tile("dark", (100, 0, 0), (".#", ".."), (0, 0, 9))
    board = Board(1, 2, (Tile("light", (200, 100, 20)), dark), ("Wait",))
    assert planes(board, b"\1\0").tolist() == [[[0, 1]], [[1, 0]]]
    pixels = picture(board, b"\1\0")
    assert pixels.shape == (PIXELS, 2 * PIXELS, 3)
    assert pixels[0, 0].tolist() == [100, 0, 0]
    assert pixels[0, PIXELS // 2].tolist() == [0, 0, 9]
    assert pixels[-1, 0].tolist() == [85, 0, 0]
    assert pixels[0, PIXELS].tolist() == [200, 100, 20]
    assert pixels[-1, PIXELS].tolist() == pixels[0, -1].tolist() == [170, 85, 17]


@pytest.mark.parametrize("names", [SOKOBAN, FROZEN_LAKE, CUBE], ids=lambda names: names[0])
def test_a_meaning_has_one_look_in_all_variants(names):
    looks = {}
    for name in names:
        env = make(name, split="test", render_mode="rgb_array", response_format="plain")
        for seed in range(60):
            text, _ = env.reset(seed=seed)
            table, state, stream = meanings(text), state_in(text), RandomStream("look", seed)
            while True:
                pixels = env.render()
                assert pixels.dtype == np.uint8
                for y, row in enumerate(rows(state, table)):
                    for x, meaning in enumerate(row):
                        square = pixels[PIXELS * y :, PIXELS * x :][:PIXELS, :PIXELS]
                        assert looks.setdefault(meaning, square.tobytes()) == square.tobytes()
                assert pixels.shape == (PIXELS * (y + 1), PIXELS * (x + 1), 3)
                if not env.legal_actions:
                    break
                state = env.step(random_answer(env, stream))[0].partition("\n")[2]
    assert len(looks) == len(set(looks.values())) == len(env.board.tiles)


@pytest.mark.parametrize("observation", ["text", "array"])
@pytest.mark.parametrize("id_", ["ragen/SokobanLarge-v0", "ragen/FrozenLakeNewVocab-v0"])
def test_an_episode_is_filmed_by_gymnasiums_wrappers(id_, observation):
    env = gymnasium.make(id_, observation=observation, render_mode="rgb_array_list", split="test")
    env = RecordEpisodeStatistics(env)
    env.reset(seed=1)
    over, turns = False, 0
    while not over:
        wait = np.ones(env.action_space.shape, int) if observation == "array" else "Up"
        _, _, terminated, truncated, info = env.step(wait)
        over, turns = terminated or truncated, turns + 1
    frames = env.render()
    assert len(frames) == turns + 1 == info["episode"]["l"] + 1
    assert len({frame.shape for frame in frames}) == 1
    assert env.metadata["render_fps"] == 1


def test_pictures_are_of_boards_and_of_begun_episodes():
    with pytest.raises(ValueError, match=r"render_mode 'rgb_array' is unknown; choose one of \[No"):
        MultiPullEnv("BanditMultiPull-v0", render_mode="rgb_array")
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before render\(\)"):
        make(board_ids()[0], render_mode="rgb_array").render()


def test_a_picture_stays_as_it_is():
    env = make("Sokoban-v0", render_mode="rgb_array", response_format="plain", split="test")
    env.reset(seed=0)
    pixels = env.render()
    kept = pixels.copy()
    env.step("Up")
    assert (pixels == kept).all()
    assert (env.render() != kept).any()
    pixels[:] = 0
    assert env.render().any()


def test_places_by_hand():
    assert coordinates_of(5, 3) == ("(0, 0)", "(0, 1)", "(0, 2)", "(1, 0)", "(1, 1)")


@given(st.integers(1, 9), st.integers(1, 9))
def test_each_square_has_its_row_and_column(rows, stride):
    named = [f"({y}, {x})" for y in range(rows) for x in range(stride)]
    assert list(coordinates_of(rows * stride, stride)) == named
