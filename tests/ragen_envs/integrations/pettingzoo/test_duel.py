"""A duel's copies are single environments, fed with each agent's answers."""

from fractions import Fraction

import pytest
from hypothesis import given, settings

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_answer
from ragen_envs.integrations.pettingzoo import aec_env, parallel_env
from ragen_envs.integrations.pettingzoo.modes import find_winner, zero_sum
from tests.ragen_envs.integrations.pettingzoo.support import (
    DUELS,
    names,
    resets,
    rounds,
    settings_of_a_game,
    written,
)
from tests.ragen_envs.support import IDS, make

WAIT = "Your game is over, and others still play. Your answers do nothing until they end."


def exact(reward):
    return Fraction(round(100 * reward), 100)


@pytest.mark.parametrize(("id_", "n"), DUELS)
@settings(max_examples=10)
@given(game=settings_of_a_game, reset=resets, rounds=rounds)
def test_copies_are_single_environments_and_rewards_are_zero_sum(id_, n, game, reset, rounds):
    env, agents = parallel_env(id_, n, "duel", **game), names(n)
    singles = {agent: make(id_, **game) for agent in agents}
    firsts = {agent: single.reset(**reset) for agent, single in singles.items()}
    observations, infos = env.reset(**reset)
    for agent, (text, info) in firsts.items():
        assert observations[agent]["text"].partition("\n\n")[2] == text
        assert observations[agent]["text"].startswith(f"You are {agent} and play against ")
        assert infos[agent] == info
    legal = info["legal_actions"]
    returns, flags = dict.fromkeys(agents, Fraction(0)), {}
    for recipes in rounds:
        answers = [written(r, legal, game["response_format"]) for r in recipes[:n]]
        answers = dict(zip(agents, answers, strict=True))
        told = env.step(answers)
        gains, texts = dict.fromkeys(agents, Fraction(0)), {}
        for agent in [a for a in agents if a not in flags]:
            text, reward, *ended, info = singles[agent].step(answers[agent])
            texts[agent], gains[agent], infos[agent] = text, exact(reward), info
            returns[agent] += gains[agent]
            if any(ended):
                flags[agent] = ended
        over = len(flags) == n
        for agent in agents:
            others = sum(gains[other] for other in agents if other != agent) / (n - 1)
            assert told[1][agent] == pytest.approx(float(gains[agent] - others), abs=1e-12)
            assert [told[2][agent], told[3][agent]] == (flags[agent] if over else [False, False])
            lines = [texts[agent]] if agent in texts else []
            if agent in flags and not over:
                lines.append(WAIT)
            if not over:
                assert told[0][agent]["text"] == "\n".join(lines)
                assert told[4][agent] == infos[agent]
            else:
                assert told[0][agent]["text"].startswith("\n".join(lines))
        assert sum(told[1].values()) == pytest.approx(0, abs=1e-12)
        if over:
            break
    best = [agent for agent in agents if returns[agent] == max(returns.values())]
    winner = best[0] if len(best) == 1 else None
    result = f"Winner: {winner or 'none'}."
    for agent in agents:
        assert told[4][agent] == infos[agent] | {
            "returns": {a: float(returns[a]) for a in agents},
            "winner": winner,
        }
        assert told[0][agent]["text"].endswith(result)
    assert env.agents == []


@pytest.mark.parametrize(("id_", "n"), DUELS)
@settings(max_examples=5)
@given(reset=resets, rounds=rounds)
def test_the_aec_form_plays_as_the_parallel_form(id_, n, reset, rounds):
    env, aec = (form(id_, n, "duel", response_format="plain") for form in (parallel_env, aec_env))
    _, infos = env.reset(**reset)
    aec.reset(**reset)
    legal = infos["agent_0"]["legal_actions"]
    for recipes in rounds:
        answers = {f"agent_{i}": written(r, legal, "plain") for i, r in enumerate(recipes[:n])}
        told = env.step(answers)
        for agent in names(n):
            assert aec.agent_selection == agent
            # Who waits may answer anything, None too.
            waits = aec.infos[agent]["legal_actions"] == ()
            aec.step(None if waits else answers[agent])
        if not env.agents:
            break
        for agent in names(n):
            seen = (aec.observe(agent), aec.rewards[agent], aec.infos[agent])
            assert seen == (told[0][agent], told[1][agent], told[4][agent])
    for agent in names(n):
        assert aec.last() == tuple(part[agent] for part in told)
        aec.step(None)
    assert aec.agents == []


def test_the_nth_pull_of_an_arm_pays_all_alike():
    env = parallel_env("ragen/BanditMultiPull-v0", 3, "duel", response_format="plain")
    _, infos = env.reset(seed=3)
    arms, paid, pulls = infos["agent_0"]["legal_actions"], {}, {}
    for turn in range(20):
        answers = {
            agent: arms[(turn * (i + 1) + i) % len(arms)] for i, agent in enumerate(names(3))
        }
        observations, *_ = env.step(answers)
        for agent, arm in answers.items():
            nth = pulls[agent, arm] = pulls.get((agent, arm), -1) + 1
            won = "Reward: 1." in observations[agent]["text"]
            assert paid.setdefault((arm, nth), won) == won
    assert len(set(paid.values())) == 2


def test_the_numbers_of_a_duel():
    assert zero_sum({"a": 100, "b": 0}) == {"a": 1.0, "b": -1.0}
    assert zero_sum({"a": 100, "b": 15, "c": -10}) == {"a": 0.975, "b": -0.3, "c": -0.675}
    assert zero_sum({"a": 15, "b": 15, "c": 15}) == {"a": 0.0, "b": 0.0, "c": 0.0}
    assert find_winner({"a": -10, "b": -20}) == "a"
    assert find_winner({"a": 5, "b": 7, "c": 7}) is None


def test_who_has_solved_its_level_waits_for_the_others():
    env = parallel_env(
        "ragen/Sokoban-v0", ["ann", "bob"], "duel", split="test", response_format="plain"
    )
    env.reset(seed=1)
    answers = {"ann": "Left || Left || Up || Up", "bob": "Down"}
    observations, rewards, terminations, truncations, infos = env.step(answers)
    # Four moves at -0.1, the box on the target at 1, the level at 10; against one move.
    assert rewards == {"ann": 10.7, "bob": -10.7}
    assert env.agents == ["ann", "bob"]
    assert not any([*terminations.values(), *truncations.values()])
    assert infos["ann"]["legal_actions"] == ()
    assert observations["ann"]["text"].endswith(WAIT)
    for _ in range(3):
        observations, rewards, *_ = env.step({"bob": ""})
        assert rewards == {"ann": 0.1, "bob": -0.1}
        assert observations["ann"]["text"] == WAIT
    observations, rewards, terminations, truncations, infos = env.step({"ann": "Up", "bob": ""})
    assert rewards == {"ann": 0.1, "bob": -0.1}
    assert terminations == {"ann": True, "bob": False}
    assert truncations == {"ann": False, "bob": True}
    assert env.agents == []
    assert infos["ann"]["returns"] == infos["bob"]["returns"] == {"ann": 10.6, "bob": -0.5}
    assert infos["bob"]["winner"] == "ann"
    assert (infos["ann"]["score"], infos["bob"]["score"]) == (1.0, 0.0)
    for observation in observations.values():
        assert observation["text"].endswith(
            "All games are over. Gained: ann 10.6, bob -0.5. Winner: ann."
        )


@pytest.mark.parametrize("id_", IDS)
def test_the_oracle_beats_the_random_player_and_ties_with_itself(id_):
    stream, balance = RandomStream("duel", id_), 0
    for rivals in ("oracle", "random"):
        env = aec_env(id_, ["ann", "bob"], "duel", split="test")
        for seed in range(12):
            env.reset(seed=seed, options={"noise_seed": seed})
            returns, scores = {"ann": 0.0, "bob": 0.0}, {}
            for agent in env.agent_iter():
                _, reward, terminated, truncated, info = env.last()
                returns[agent] += reward
                scores[agent] = info["score"]
                game = env.unwrapped.text_env(agent)
                if terminated or truncated or not game.legal_actions:
                    env.step(None)
                elif agent == "ann" or rivals == "oracle":
                    env.step(oracle_answer(game))
                else:
                    env.step(random_answer(game, stream))
            assert returns["ann"] == pytest.approx(-returns["bob"])
            if rivals == "oracle":
                assert info["winner"] is None
                assert returns["ann"] == 0
            else:
                balance += scores["ann"] - scores["bob"]
    assert balance > 0


def test_a_duel_needs_two():
    for form in (aec_env, parallel_env):
        with pytest.raises(ValueError, match="a duel needs at least two agents"):
            form("ragen/Bandit-v0", 1, "duel")
