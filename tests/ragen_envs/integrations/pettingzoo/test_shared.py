"""A room that agents share is the single environment, fed with the same answers in order."""

import pytest
from hypothesis import given, settings

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_answer
from ragen_envs.integrations.pettingzoo import aec_env, parallel_env
from tests.ragen_envs.integrations.pettingzoo.support import (
    MULTI_TURN,
    TURNS,
    names,
    resets,
    rounds,
    settings_of_a_game,
    written,
)
from tests.ragen_envs.support import IDS, make

FLAGS = {"format_is_valid", "action_is_valid", "action_is_effective", "answer_is_example"}


def flat(rounds, legal, game):
    return [written(r, legal, game["response_format"]) for three in rounds for r in three]


@pytest.mark.parametrize("id_", IDS)
@settings(max_examples=15)
@given(game=settings_of_a_game, reset=resets, rounds=rounds)
def test_one_agent_has_what_gymnasium_gives(id_, game, reset, rounds):
    single = make(id_, **game)
    aec, parallel = aec_env(id_, 1, **game), parallel_env(id_, 1, **game)
    text, info = single.reset(**reset)
    aec.reset(**reset)
    assert parallel.reset(**reset) == ({"agent_0": {"text": text}}, {"agent_0": info})
    assert aec.last() == ({"text": text}, 0, False, False, info)
    for answer in flat(rounds, info["legal_actions"], game):
        text, *rest = expected = single.step(answer)
        aec.step(answer)
        assert aec.last() == ({"text": text}, *rest)
        told = parallel.step({"agent_0": answer})
        assert told == tuple({"agent_0": part} for part in ({"text": text}, *rest))
        if expected[2] or expected[3]:
            break
    aec.step(None)
    assert (aec.agents, parallel.agents) == ([], [])


@pytest.mark.parametrize("id_", MULTI_TURN)
@pytest.mark.parametrize("n", [2, 3])
@settings(max_examples=10)
@given(game=settings_of_a_game, reset=resets, rounds=rounds)
def test_agents_take_the_turns_of_one_episode_in_rotation(id_, n, game, reset, rounds):
    single, env = make(id_, **game), aec_env(id_, n, **game)
    first, info = single.reset(**reset)
    env.reset(**reset)
    owed, flags = dict.fromkeys(names(n), 0), {a: dict.fromkeys(FLAGS, False) for a in names(n)}
    log, state, spoke = [], "", {}
    for turn, answer in enumerate(flat(rounds, info["legal_actions"], game)):
        agent = env.agent_selection
        assert agent == names(n)[turn % n]
        observation, reward, terminated, truncated, seen = env.last()
        assert (terminated, truncated) == (False, False)
        assert reward == pytest.approx(owed[agent])
        assert seen == info | flags[agent]
        news = "\n".join([*log[spoke.get(agent, 0) :], state])
        if agent in spoke:
            assert observation["text"] == news
        else:
            introduction, _, rest = observation["text"].partition("\n\n")
            assert introduction.startswith(f"You are {agent}. {', '.join(names(n))} play")
            assert rest == first + (f"\n\n{news}" if log else "")
        env.step(answer)
        spoke[agent], owed[agent] = len(log), 0
        text, reward, terminated, truncated, info = single.step(answer)
        flags[agent] = {flag: info[flag] for flag in FLAGS}
        told, _, state = text.partition("\n")
        log.append(f"{agent}: {told}")
        assert env.rewards == dict.fromkeys(names(n), reward)
        owed = {a: owed[a] + reward for a in names(n)}
        if terminated or truncated:
            break
    for agent in names(n):
        observation, reward, *ended, seen = env.last()
        assert env.agent_selection == agent
        assert observation["text"].endswith("\n".join([*log[spoke.get(agent, 0) :], state]))
        assert reward == pytest.approx(owed[agent])
        assert ended == [terminated, truncated]
        assert seen == info | flags[agent]
        env.step(None)
    assert env.agents == []


@pytest.mark.parametrize("id_", MULTI_TURN)
@pytest.mark.parametrize("n", [2, 3])
@settings(max_examples=10)
@given(game=settings_of_a_game, reset=resets, rounds=rounds)
def test_answers_given_at_once_run_in_the_agents_order(id_, n, game, reset, rounds):
    single, env = make(id_, **game), parallel_env(id_, n, **game)
    first, info = single.reset(**reset)
    observations, infos = env.reset(**reset)
    legal = info["legal_actions"]
    assert infos == dict.fromkeys(names(n), info)
    for agent, observation in observations.items():
        assert observation["text"].startswith(f"You are {agent}. {', '.join(names(n))} play")
        assert observation["text"].endswith(f"\n\n{first}")
    terminated = truncated = False
    for recipes in rounds:
        answers = [written(r, legal, game["response_format"]) for r in recipes[:n]]
        # The order of the dict must not matter.
        told = env.step(dict(reversed([*zip(names(n), answers, strict=True)])))
        news, total, flags = [], 0, {}
        for agent, answer in zip(names(n), answers, strict=True):
            if terminated or truncated:
                news.append(f"{agent}: The episode was over, so nothing was done.")
                flags[agent] = dict.fromkeys(FLAGS, False)
                continue
            text, reward, terminated, truncated, info = single.step(answer)
            line, _, state = text.partition("\n")
            news.append(f"{agent}: {line}")
            total += reward
            flags[agent] = {flag: info[flag] for flag in FLAGS}
        text = "\n".join([*news, state])
        assert told[0] == {agent: {"text": text} for agent in names(n)}
        assert told[1] == pytest.approx(dict.fromkeys(names(n), total))
        assert told[2:4] == tuple(dict.fromkeys(names(n), x) for x in (terminated, truncated))
        assert told[4] == {agent: info | flags[agent] for agent in names(n)}
        if terminated or truncated:
            break
    assert env.agents == []


@pytest.mark.parametrize("id_", IDS)
@pytest.mark.parametrize("player", ["random", "oracle"])
def test_players_play_whole_episodes(id_, player):
    n, stream = min(3, TURNS[id_]), RandomStream("bridge", id_)
    env = aec_env(id_, n, split="test")
    for seed in range(5):
        env.reset(seed=seed, options={"noise_seed": seed})
        returns, asked, last = dict.fromkeys(names(n), 0), [], {}
        for agent in env.agent_iter():
            _, reward, terminated, truncated, info = env.last()
            returns[agent] += reward
            if terminated or truncated:
                last[agent] = info
                env.step(None)
                continue
            asked.append(agent)
            game = env.unwrapped.text_env(agent)
            env.step(oracle_answer(game) if player == "oracle" else random_answer(game, stream))
        assert asked == [names(n)[i % n] for i in range(len(asked))]
        assert {info["turn"] for info in last.values()} == {len(asked)}
        assert list(last) == names(n)
        assert max(returns.values()) == pytest.approx(min(returns.values()))
        if player == "oracle":
            assert all(info["success"] or info["ceiling"] < 1 for info in last.values())


def test_a_reset_while_the_dead_leave_begins_with_the_first_agent():
    env = aec_env("ragen/Sokoban-v0", 2, response_format="plain")
    env.reset(seed=0)
    for _ in range(5):
        env.step("")
    env.step(None)
    assert env.agents == ["agent_1"]
    env.reset(seed=0)
    assert env.agents == ["agent_0", "agent_1"]
    assert [agent for agent in env.agent_iter(4) if env.step("") is None] == names(2) * 2
    env.step("")
    for agent in names(2):
        assert env.agent_selection == agent
        env.step(None)
    assert env.agents == []


def test_a_game_is_shared_by_no_more_agents_than_it_has_turns():
    for form in (aec_env, parallel_env):
        assert len(form("ragen/Sokoban-v0", 5).possible_agents) == 5
        with pytest.raises(ValueError, match="has 5 turns in all, too few for 6 agents"):
            form("ragen/Sokoban-v0", 6)
        with pytest.raises(ValueError, match="use at most 1, or mode='duel'"):
            form("ragen/Bandit-v0", 2)
