"""How many steps a second an environment makes, alone or in a batch."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import gymnasium
import numpy as np

ROUNDS = 7
"""Rounds of a measurement, of which the fastest counts: other processes only ever slow one down."""
EPISODES, PASSES = 128, 8
"""Different episodes in a round of steps, and how often each is played in it."""
NUM_ENVS = 64
"""Environments of a batch; `EPISODES` is a multiple of it."""


def best_rate(measure: Callable[[int], tuple[int, float]], rounds: int = ROUNDS) -> float:
    """Return the best count a second over the rounds; each returns its count and its seconds."""
    return max(count / seconds for count, seconds in map(measure, range(rounds)))


def changing_episodes(env_id: str) -> list[list[str]]:
    """Return episodes of random actions, one a turn, that change the state if one can."""
    return [list(_changing_actions(env_id, seed)) for seed in range(EPISODES)]


def _changing_actions(env_id: str, seed: int) -> Iterator[str]:
    env = gymnasium.make(env_id, split="test", response_format="plain").unwrapped
    _, info = env.reset(seed=seed)
    chance, over = random.Random(seed), False
    while not over:
        names = chance.sample(info["legal_actions"], len(info["legal_actions"]))
        for name in names:
            after = copy.deepcopy(env)
            _, _, terminated, truncated, told = after.step(name)
            if told["action_is_effective"]:
                break
        env, info, over = after, told, terminated or truncated
        yield name


def thought(name: str, episode: int, turn: int) -> str:
    """Return an answer in ``think`` format that no other turn has."""
    reasons = f"In game {episode} this is turn {turn}, and of all that I could do {name} is best."
    return f"<think>{reasons}</think><answer>{name}</answer>"


def step_rate(env_id: str, response_format: str, episodes: list[list[str]]) -> float:
    """Return steps a second over the given episodes."""
    env = gymnasium.make(env_id, split="test", response_format=response_format)
    answers = [
        [thought(name, i, turn) if response_format == "think" else name for turn, name in turns]
        for i, turns in enumerate(map(enumerate, episodes))
    ]

    def measure(_: int) -> tuple[int, float]:
        step, seconds = env.step, 0.0
        for seed, turns in list(enumerate(answers)) * PASSES:
            env.reset(seed=seed)
            begin = perf_counter()
            for answer in turns:
                step(answer)
            seconds += perf_counter() - begin
        return PASSES * sum(map(len, answers)), seconds

    return best_rate(measure)


def vector_rate(
    env_id: str, response_format: str, episodes: list[list[str]], mode: str | None
) -> float:
    """Return steps a second, summed over the environments of a batch, without any reset.

    Args:
        env_id: the environment.
        response_format: "plain" or "think".
        episodes: The actions of each test instance, one per turn; those of a batch
            are cut to the shortest.
        mode: "sync" for Gymnasium's `SyncVectorEnv`, None for the suite's own.
    """
    envs = gymnasium.make_vec(env_id, NUM_ENVS, mode, split="test", response_format=response_format)
    batches: list[tuple[list[int], list[list[str]]]] = []
    for first in range(0, len(episodes), NUM_ENVS):
        seeds = list(range(first, first + NUM_ENVS))
        turns = enumerate(zip(*episodes[first : first + NUM_ENVS], strict=False))
        told = [
            [thought(name, seed, turn) for seed, name in zip(seeds, names, strict=True)]
            if response_format == "think"
            else list(names)
            for turn, names in turns
        ]
        batches.append((seeds, told))

    def measure(_: int) -> tuple[int, float]:
        steps, seconds = 0, 0.0
        for seeds, turns in batches * PASSES:
            envs.reset(seed=seeds)
            begin = perf_counter()
            for answers in turns:
                envs.step(answers)
            seconds += perf_counter() - begin
            steps += NUM_ENVS * len(turns)
        return steps, seconds

    return best_rate(measure)


def autoreset_rate(env_id: str, mode: str | None, split: str = "test") -> float:
    """Return steps a second where episodes that end are followed by others, resets counted in."""
    envs = gymnasium.make_vec(env_id, NUM_ENVS, mode, split=split, response_format="plain")
    _, infos = envs.reset(seed=0)
    return _running_rate(
        envs, [legal[i % len(legal)] for i, legal in enumerate(infos["legal_actions"])]
    )


def gymnasium_lake_rate(turns: int) -> float:
    """Return the same of Gymnasium's FrozenLake, whose one map never changes, with a turn limit."""
    envs = gymnasium.make_vec("FrozenLake-v1", NUM_ENVS, "sync", max_episode_steps=turns)
    envs.reset(seed=0)
    return _running_rate(envs, np.arange(NUM_ENVS) % 4)


def _running_rate(envs: gymnasium.vector.VectorEnv[Any, Any, Any], actions: object) -> float:
    def measure(_: int) -> tuple[int, float]:
        turns = 100
        begin = perf_counter()
        for _ in range(turns):
            envs.step(actions)
        return turns * NUM_ENVS, perf_counter() - begin

    return best_rate(measure)
