"""Games with pictures are the text games, with nothing of the board in words."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_envs.core.boards import PICTURED
from ragen_envs.core.views import ImageEnv
from ragen_envs.games.bandit.env import BanditEnv
from ragen_envs.games.sokoban.env import SokobanEnv
from ragen_envs.making import board_ids
from ragen_envs.registration import load_class
from tests.ragen_envs.support import make, state_in

BOARD_IDS = board_ids()


@pytest.mark.parametrize("id_", BOARD_IDS)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_the_same_answers_give_the_same_episode(id_, data):
    split = data.draw(st.sampled_from(["train", "val", "test"]))
    form = data.draw(st.sampled_from(["think", "answer", "plain", "tools"]))
    seen = make(id_, observation="image", split=split, response_format=form)
    texts = make(id_, split=split, response_format=form, render_mode="rgb_array")
    start = {"seed": data.draw(st.integers(0, 300)), "options": {"noise_seed": 3}}
    first, info = texts.reset(**start)
    observation, same = seen.reset(**start)
    assert same == info
    assert observation in seen.observation_space
    assert state_in(observation["text"]) == PICTURED
    assert (observation["image"] == texts.render()).all()
    # All that is left out is the board and what its symbols mean.
    lines, others = observation["text"].split("\n"), first.split("\n")
    legend = texts.board.legend
    assert lines.count(legend) == 1
    assert [line for line in lines if line not in others] == [legend, PICTURED]
    over = False
    while not over:
        names = data.draw(st.lists(st.sampled_from([*info["legal_actions"], "Fly"]), max_size=4))
        answer = " || ".join(names)
        text, *outcome = texts.step(answer)
        observation, *same = seen.step(answer)
        assert repr(same) == repr(outcome)
        assert observation["text"] == f"{text.partition(chr(10))[0]}\n{PICTURED}"
        assert (observation["image"] == texts.render()).all()
        over = outcome[1] or outcome[2]


@pytest.mark.parametrize("id_", BOARD_IDS)
def test_the_legend_names_each_tile_once_and_no_two_alike(id_):
    board = make(id_).board
    told = board.legend.partition("squares: ")[2].rstrip(".")
    looks = [tile.look or tile.meaning for tile in board.tiles]
    assert len({*looks}) == len(board.tiles)
    assert all(
        tile.meaning in told and look in told for tile, look in zip(board.tiles, looks, strict=True)
    )


def test_variants_that_differ_in_their_letters_alone_are_pictured_alike():
    told = set()
    for name in ("Sokoban-v0", "SokobanNewVocab-v0", "SokobanCoord-v0"):
        env = SokobanEnv(name, split="test", pictured=True)
        told.add(env.reset(seed=0)[0])
    assert len(told) == 1


def test_copies_keep_their_pictures():
    env = make("FrozenLake-v0", observation="image", split="val")
    env.reset(seed=3)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        (one, *_), (other, *_) = copy.deepcopy(env).step("Up"), twin.step("Up")
        assert one["text"] == other["text"]
        assert (one["image"] == other["image"]).all()


def test_several_at_once_are_the_single_ones():
    envs = gymnasium.make_vec(
        "ragen/FrozenLake-v0",
        num_envs=2,
        observation="image",
        split="test",
        response_format="plain",
    )
    observations, _ = envs.reset(seed=7)
    single = make("FrozenLake-v0", observation="image", split="test", response_format="plain")
    assert (observations["image"][1] == single.reset(seed=8)[0]["image"]).all()


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="Bandit-v0 has no board to picture"):
        BanditEnv("Bandit-v0", pictured=True)
    with pytest.raises(ValueError, match="a game with pictures is made with pictured=True"):
        ImageEnv(SokobanEnv("Sokoban-v0"))
    with pytest.raises(ResetNeeded, match=r"call reset\(\) before picture\(\)"):
        SokobanEnv("Sokoban-v0").picture()
    bandit = BanditEnv("Bandit-v0")
    bandit.reset(seed=0)
    with pytest.raises(ValueError, match="Bandit-v0 has no board to picture"):
        bandit.picture()


@pytest.mark.parametrize("id_", BOARD_IDS)
def test_the_text_game_still_draws_its_board_where_it_is_asked_to(id_):
    env = load_class(id_)(id_.partition("/")[2], split="test", render_mode="ansi", pictured=True)
    observation, _ = env.reset(seed=0)
    assert env.render() not in observation
    assert PICTURED in observation
    assert env.picture().dtype == np.uint8
