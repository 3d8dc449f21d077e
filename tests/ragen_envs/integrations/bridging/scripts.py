"""Answers to play through every bridge, with what plain Gymnasium makes of them."""

from functools import lru_cache
from typing import NamedTuple

import gymnasium

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_answer
from ragen_envs.integrations.bridging import tasks
from ragen_envs.testing.hostile import HOSTILE

INSTANCES, ROLLOUTS = 32, 3
_CARRIED = [text for text in HOSTILE.values() if text == text.encode(errors="replace").decode()]
"""Hostile texts that every transport can carry, which a lone surrogate cannot be."""
_SHORT = [text for text in _CARRIED if len(text) < 100_000]
_LONG = [text for text in _CARRIED if len(text) >= 100_000]
"""Texts that take longer than the rest of an episode: each is said once in each game."""


class Step(NamedTuple):
    """What an answer led to; `success` is None before the end."""

    observation: str
    reward: float
    terminated: bool
    truncated: bool
    success: bool | None


class Script(NamedTuple):
    """The answers of an episode, and what plain Gymnasium says to them."""

    task: object
    player: str
    answers: tuple[str, ...]
    first: str
    steps: tuple[Step, ...]


def oracle(env, stream):
    return oracle_answer(env.unwrapped)


def random(env, stream):
    return random_answer(env.unwrapped, stream)


def hostile(env, stream):
    return _SHORT[stream.below(len(_SHORT))]


def out_of_form(env, stream):
    legal = env.unwrapped.legal_actions
    return f"I take {legal[stream.below(len(legal))]}, please."


PLAYERS = (oracle, random, hostile, out_of_form)


@lru_cache(maxsize=1)
def scripts(id_):
    """Return a script for each task and player, and for each long text, on an id's test split."""
    wanted = list(tasks(id_, INSTANCES, ROLLOUTS, split="test"))
    env = gymnasium.make(id_, split="test")
    played = [_script(env, task, player) for task in wanted for player in PLAYERS]
    return played + [_script(env, wanted[i], hostile, [text]) for i, text in enumerate(_LONG)]


def _script(env, task, player, begun=()):
    """Return the script of a player who begins with some answers."""
    stream = RandomStream(player.__name__, task.seed, task.noise_seed)
    first, _ = env.reset(seed=task.seed, options={"noise_seed": task.noise_seed})
    answers, steps, left = [], [], list(begun)
    while env.unwrapped.legal_actions:
        answers.append(left.pop(0) if left else player(env, stream))
        observation, reward, terminated, truncated, info = env.step(answers[-1])
        success = info["success"] if terminated or truncated else None
        steps.append(Step(observation, reward, terminated, truncated, success))
    return Script(task, player.__name__, tuple(answers), first, tuple(steps))
