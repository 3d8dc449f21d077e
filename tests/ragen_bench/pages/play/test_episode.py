"""A person's episode is the one that anybody gets, and its end says how it went."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.errors import UserError
from ragen_bench.pages.play.episode import (
    HumanEpisode,
    Turn,
    choose_episode,
    describe_ending,
    sum_rewards,
)
from ragen_envs import IDS
from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import random_answer
from ragen_envs.games.webshop.env import PARTS

from .support import made, oracle_episode

ANSWERS = st.lists(
    st.sampled_from(["Up || Left", "search[red shoes]", "click[next >]", ""]) | st.text(),
    max_size=6,
)


@given(
    st.sampled_from(["Sokoban-v0", "FrozenLake-v0", "WebShop-v0"]),
    st.integers(0, 300),
    st.integers(0, 3),
    ANSWERS,
)
def test_the_episode_is_the_one_of_gymnasium(name, seed, noise_seed, answers):
    episode, env = (
        HumanEpisode(choose_episode(name, "test", seed, noise_seed)),
        made(f"ragen/{name}"),
    )
    observation, info = env.reset(seed=seed, options={"noise_seed": noise_seed})
    assert (episode.observation, episode.info) == (observation, info)
    rewards = []
    for answer in answers:
        if episode.over:
            break
        episode.play(answer)
        before = observation
        observation, reward, terminated, truncated, info = env.step(answer)
        rewards.append(reward)
        assert episode.turns[-1] == Turn(before, answer, reward)
        assert (episode.observation, episode.info) == (observation, info)
        assert (episode.over, episode.truncated) == (terminated or truncated, truncated)
    assert episode.total == pytest.approx(sum(rewards))


@pytest.mark.parametrize("env", IDS)
def test_the_end_compares_with_the_oracle_in_the_same_episode(env):
    episode, stream = HumanEpisode(choose_episode(env, "val", 7, 2)), RandomStream("play", env)
    while not episode.over:
        episode.play(random_answer(episode.env, stream))
    ending = describe_ending(episode)
    _, answers, rewards, _ = oracle_episode(env, 7, 2, "val")
    assert [turn.answer for turn in ending.oracle] == answers
    assert [turn.reward for turn in ending.oracle] == rewards
    assert ending.oracle_total == pytest.approx(sum(rewards))
    assert (ending.score, ending.ceiling) == (episode.info["score"], episode.info["ceiling"])
    assert ending.total == episode.total
    parts = PARTS if "WebShop" in env else ()
    assert [name.partition(",")[0] for name in ending.parts] == list(parts)
    assert list(ending.parts.values()) == [episode.info[part] for part in parts]


def ended(env, answers, seed=3):
    episode = HumanEpisode(choose_episode(env, "test", seed, 0))
    for answer in answers:
        episode.play(answer)
    assert episode.over
    return describe_ending(episode).verdict


def test_verdicts():
    _, answers, _, _ = oracle_episode("ragen/WebShop-v0", 3)
    assert ended("WebShop-v0", answers) == "Solved"
    assert ended("WebShop-v0", [""] * 9) == "Out of budget"
    near = ["search[platform bed]", "click[next >]", "click[back to search]", *answers]
    assert ended("WebShop-v0", near) == "Solved"
    assert ended("WebShop-v0", answers, seed=4) == "Lost"
    other = [oracle_episode("ragen/WebShop-v0", 5)[1][i] for i in (0, 1, 3)]
    assert ended("WebShop-v0", other, seed=5) == "Solved in part"
    assert ended("Bandit-v0", ["no arm"]) == "Lost"


def test_a_return_has_no_error_of_fractions():
    assert sum_rewards([Turn("", "", reward) for reward in (-0.1, -0.1, -0.1)]) == -0.3
    assert sum_rewards([]) == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("Chess-v0", "test", 0, 0), "unknown environment 'Chess-v0'"),
        (("Sokoban-v0", "tset", 0, 0), "did you mean test"),
        (("Sokoban-v0", "test", -1, 0), "at least 0"),
        (("Sokoban-v0", "test", 0, -1), "at least 0"),
    ],
)
def test_what_cannot_be_chosen(arguments, says):
    with pytest.raises(UserError, match=says):
        choose_episode(*arguments)
