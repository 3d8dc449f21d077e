"""The same episode without the page: what a player of `gymnasium.make` sees."""

import gymnasium

import ragen_envs  # noqa: F401 (registers the ids)
from ragen_envs.core.policies import oracle_answer


def made(env, split="test"):
    return gymnasium.make(env, split=split, response_format="plain").unwrapped


def oracle_episode(env, seed, noise_seed=0, split="test"):
    """Return the observations, answers, rewards and last `info` of the oracle's episode."""
    played = made(env, split)
    observation, info = played.reset(seed=seed, options={"noise_seed": noise_seed})
    observations, answers, rewards, over = [observation], [], [], False
    while not over:
        answers.append(oracle_answer(played))
        observation, reward, terminated, truncated, info = played.step(answers[-1])
        observations.append(observation)
        rewards.append(reward)
        over = terminated or truncated
    return observations, answers, rewards, info
