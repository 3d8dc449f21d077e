"""Answers to play through every bridge, with what plain Gymnasium makes of them."""

from functools import lru_cache
from itertools import cycle
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


def make_hostile():
    """Return a player that says one hostile text after the other, with random moves between."""
    texts = cycle(_SHORT)

    def hostile(env, stream):
        return random(env, stream) if env.unwrapped.turn % 2 else next(texts)

    return hostile


def out_of_form(env, stream):
    legal = env.unwrapped.legal_actions
    return f"I take {legal[stream.below(len(legal))]}, please."


@lru_cache(maxsize=1)
def scripts(id_):
    """Return three scripts for each task, and one for each long text, on an id's test split.

    Each instance is played by all four players; the two careless ones share its noise seeds, since
    their scripts are the longest.
    """
    wanted = list(tasks(id_, INSTANCES, ROLLOUTS, split="test"))
    env = gymnasium.make(id_, split="test")
    careless = make_hostile(), out_of_form
    played = [
        _script(env, task, player)
        for task in wanted
        for player in (oracle, random, careless[(task.seed + task.noise_seed) % 2])
    ]
    return played + [_script(env, wanted[i], oracle, [text]) for i, text in enumerate(_LONG)]


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
