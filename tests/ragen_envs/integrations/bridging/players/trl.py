"""Calls of the tools, which TRL's trainer makes of what a model says.

A call without arguments stands for every answer that is out of form, since a game does the same
with all of them. An answer in form is a call if it names actions as the game's functions write
them; others, such as "99" in WebShop, are none.
"""

from functools import lru_cache

import gymnasium

from ragen_envs.core.protocol import HOW_TO_CALL, SEPARATOR, body_of, instructions
from ragen_envs.core.tools import calls_of
from ragen_envs.integrations.trl import environment
from tests.ragen_envs.integrations.bridging.scripts import Step


@lru_cache
def made(id_):
    return environment(id_)()


@lru_cache
def game(id_):
    return gymnasium.make(id_).unwrapped


def calls(task, answer):
    """Return the call of an answer in form, None for one that is out of form.

    Raises:
        ValueError: for an answer in form that is no call.
    """
    body = body_of(answer, task.response_format)
    if body is None:
        return None
    several = game(task.env).budget.max_actions_per_turn > 1
    texts = body.split(SEPARATOR) if several else [body]
    [call] = calls_of(game(task.env), texts)
    return call


def plays(task, answer):
    """Return whether the tools can say what an answer does."""
    try:
        calls(task, answer)
    except ValueError:
        return False
    return True


def play(task, answers):
    env = made(task.env)
    first = env.reset(seed=task.seed, rollout=task.noise_seed, split=task.split)
    form = instructions(game(task.env).example, task.response_format)
    steps = []
    for answer in answers:
        function = game(task.env).functions[0].name
        name, arguments = calls(task, answer) or (function, {})
        observation = getattr(env, name)(**arguments)
        turn = env.episode.turns[-1]
        ends = turn.terminated, turn.truncated
        steps.append(Step(observation, turn.reward, *ends, env.episode.success))
    assert env.get_reward() == env.episode.total_reward
    return first.replace(HOW_TO_CALL, form), steps
