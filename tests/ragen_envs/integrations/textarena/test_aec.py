import copy
import pickle
import random

import pytest
from gymnasium.error import Error, ResetNeeded
from hypothesis import given, settings
from hypothesis import strategies as st
from pettingzoo.test import api_test, seed_test

from ragen_envs.integrations.textarena import pettingzoo_env
from tests.cases import examples

from .support import HOSTILE, SEVERAL, Raw, answers, global_state


def episode(env, seed, actions):
    """Play until the end or the last action; return all that all agents were shown."""
    env.reset(seed=seed)
    shown = []
    for action in actions:
        shown.append([env.agent_selection, *(env.observe(a)["text"] for a in env.possible_agents)])
        env.step(action)
        if any(env.terminations.values()) or any(env.truncations.values()):
            break
    return [*shown, env.rewards, [env.observe(a) for a in env.possible_agents], env.infos]


@pytest.mark.parametrize(("env_id", "players"), SEVERAL)
@pytest.mark.filterwarnings("ignore:Observation:UserWarning")
@pytest.mark.filterwarnings("ignore:Action space:UserWarning")
def test_pettingzoos_own_tests_pass(env_id, players, capsys):
    random.seed(3)
    before = global_state()
    api_test(pettingzoo_env(env_id, players), num_cycles=100)
    seed_test(lambda: pettingzoo_env(env_id, players), num_cycles=30)
    assert "Passed API test" in capsys.readouterr().out
    assert global_state() == before


@pytest.mark.parametrize(("env_id", "players"), SEVERAL)
def test_turns_texts_and_rewards_are_those_of_textarena(env_id, players):
    ended = 0
    for seed in range(5):
        env, raw = pettingzoo_env(env_id, players), Raw(env_id, players, seed)
        env.reset(seed=seed)
        for action in answers(seed, 40):
            player, messages = raw.look()
            assert env.agent_selection == f"player_{player}"
            assert env.observe(env.agent_selection) == {"text": "\n".join(messages)}
            env.step(action)
            if raw.step(action):
                ended += 1
                rewards, game_info = raw.env.close()
                assert env.rewards == {f"player_{p}": r for p, r in rewards.items()}
                assert all(env.terminations.values())
                assert [env.infos[f"player_{p}"]["game_info"] for p in game_info] == [
                    *game_info.values()
                ]
                break
            assert set(env.rewards.values()) == {0}
    assert ended


def test_an_agent_is_told_what_the_others_did_and_not_what_it_said():
    env = pettingzoo_env("TicTacToe-v0", 2)
    env.reset(seed=0)
    first = env.observe("player_1")["text"]
    assert first.startswith("[GAME] You are Player 1 in Tic Tac Toe")
    env.step("[4] is mine")
    told = env.observe("player_1")["text"].removeprefix(first)
    assert "[Player 0] [4] is mine" in told
    assert "is mine" not in env.observe("player_0")["text"]
    env.step("[0]")
    assert "is mine" not in env.observe("player_1")["text"]
    assert env.observe("player_0")["text"].startswith("[GAME] Player 0 placed")


def test_words_of_others_outside_the_space_are_replaced():
    env = pettingzoo_env("IteratedPrisonersDilemma-v0", 2)
    env.reset(seed=0)
    env.step("\u4f60\u597d!")
    assert env.observe("player_1")["text"].endswith("[Player 0] \ufffd\ufffd!")


@pytest.mark.parametrize(("env_id", "players"), SEVERAL)
def test_an_episode_depends_on_its_seed_alone_and_copies_go_on_alike(env_id, players):
    env, actions = pettingzoo_env(env_id, players), answers(4, 15)
    first = episode(env, 4, actions)
    episode(env, 5, answers(6, 15))
    random.seed(1)
    assert episode(env, 4, actions) == first
    env.reset(seed=4)
    env.step(actions[0])
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert twin.observe("player_0") == env.observe("player_0")
        assert twin.agent_selection == env.agent_selection
        assert episode(twin, 4, actions) == first


@given(st.sampled_from(SEVERAL), st.integers(0, 2**70), st.lists(HOSTILE, max_size=6))
@settings(max_examples=examples(80))
def test_any_text_is_an_answer(game, seed, actions):
    env = pettingzoo_env(*game)
    episode(env, seed, actions)
    for agent in env.possible_agents:
        assert env.observe(agent) in env.observation_space(agent)


def test_misuse_is_refused():
    env = pettingzoo_env("TicTacToe-v0", 2)
    for call in (lambda: env.step("[0]"), lambda: env.observe("player_0")):
        with pytest.raises(ResetNeeded):
            call()
    env.reset(seed=0)
    with pytest.raises(TypeError, match="a response must be a str"):
        env.step(None)
    for _ in range(2):
        env.step("bad")
    with pytest.raises(ValueError, match="valid action is None"):
        env.step("[0]")
    for _ in range(2):
        env.step(None)
    with pytest.raises(ResetNeeded):
        env.step(None)
    env.close()
    env.close()
    with pytest.raises(ValueError, match="num_players must be at least 1"):
        pettingzoo_env("TicTacToe-v0", 0)
    with pytest.raises(Error, match="does not start with 3 players"):
        pettingzoo_env("TicTacToe-v0", 3).reset(seed=0)
