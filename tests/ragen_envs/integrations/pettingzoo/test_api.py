"""PettingZoo's own tests, and the spaces under answers of every kind."""

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test, seed_test

from ragen_envs.integrations.pettingzoo import aec_env, parallel_env
from tests.ragen_envs.integrations.pettingzoo.support import (
    DUELS,
    SHARED,
    TURNS,
    names,
    rounds,
    written,
)
from tests.ragen_envs.support import IDS, make

CASES = [(*case, "shared") for case in SHARED] + [(*case, "duel") for case in DUELS]
OF_TEXT = {
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or "
    "gymnasium.spaces.discrete",
    "Action space for each agent probably should be gymnasium.spaces.box or "
    "gymnasium.spaces.discrete",
}
"""What PettingZoo warns of wherever observations and answers are text."""


@pytest.mark.parametrize(("id_", "n", "mode"), CASES)
def test_pettingzoos_own_tests_pass(id_, n, mode):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)  # of files that earlier tests left open
        api_test(aec_env(id_, n, mode), num_cycles=30)
        seed_test(lambda: aec_env(id_, n, mode, split="val"), num_cycles=30)
        parallel_api_test(parallel_env(id_, n, mode), num_cycles=30)
        parallel_seed_test(lambda: parallel_env(id_, n, mode, split="val"), num_cycles=30)
    assert {str(warning.message) for warning in caught} == OF_TEXT


@pytest.mark.parametrize("id_", IDS)
@settings(max_examples=8)
@given(rounds=rounds)
def test_every_text_lies_in_its_space(id_, rounds):
    for mode in ("shared", "duel"):
        if mode == "shared" and TURNS[id_] < 3:
            continue
        env = parallel_env(id_, 3, mode, response_format="plain")
        observations, infos = env.reset(seed=0)
        legal = infos["agent_0"]["legal_actions"]
        for recipes in [[], *rounds]:
            if recipes:
                answers = [written(recipe, legal, "plain") for recipe in recipes]
                observations, *_ = env.step(dict(zip(env.agents, answers, strict=True)))
            for agent, observation in observations.items():
                assert env.observation_space(agent).contains(observation)
            if not env.agents:
                break


@pytest.mark.parametrize("id_", IDS)
@pytest.mark.parametrize("answer", ["", "☃\x00 ‮", "<think>", " || " * 20_000, "Up || 左"])
def test_hostile_answers_leave_the_texts_in_their_spaces(id_, answer):
    for mode, agents in (("shared", TURNS[id_]), ("duel", 40)):
        long_names = [f"{i:_<32}" for i in range(agents)]
        env = aec_env(id_, long_names, mode)
        env.reset(seed=1)
        for agent in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            assert env.observation_space(agent).contains(observation)
            env.step(None if terminated or truncated else answer)


@pytest.mark.parametrize("mode", ["shared", "duel"])
@given(i=st.integers(0, 2))
def test_each_agent_has_spaces_of_its_own(mode, i):
    env = parallel_env("ragen/Sokoban-v0", 3, mode)
    agent = names(3)[i]
    for space in (env.observation_space, env.action_space):
        assert space(agent) is space(agent)
        assert all(space(agent) is not space(other) for other in names(3) if other != agent)
        assert space(agent) == space("agent_0")
    assert env.action_space(agent) == make("Sokoban-v0").action_space
