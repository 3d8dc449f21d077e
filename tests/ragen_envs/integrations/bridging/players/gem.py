"""GEM's interface, by the id in its registry."""

from functools import lru_cache

import gem

import ragen_envs.integrations.gem  # noqa: F401
from tests.ragen_envs.integrations.bridging.scripts import Step


@lru_cache
def made(id_, split, response_format):
    return gem.make(id_.replace("/", ":"), split=split, response_format=response_format)


def play(task, answers):
    env = made(task.env, task.split, task.response_format)
    first, _ = env.reset(seed=task.seed, noise_seed=task.noise_seed)
    steps = []
    for answer in answers:
        *step, info = env.step(answer)
        steps.append(Step(*step, info.get("success")))
    return first, steps
