"""The second of two environments; the first gets the same answers to another instance."""

from functools import lru_cache

import gymnasium

from tests.ragen_envs.integrations.bridging.scripts import Step


@lru_cache
def made(id_, split, response_format):
    options = {"split": split, "response_format": response_format}
    return gymnasium.make_vec(id_, num_envs=2, **options)


def play(task, answers):
    envs = made(task.env, task.split, task.response_format)
    rollouts = [task.noise_seed + 1, task.noise_seed]
    (_, first), _ = envs.reset(seed=[task.seed + 1, task.seed], options={"noise_seed": rollouts})
    steps = []
    for answer in answers:
        (_, observation), rewards, terminated, truncated, infos = envs.step([answer] * 2)
        over = terminated[1], truncated[1]
        success = infos["success"][1] if any(over) else None
        steps.append(Step(observation, rewards[1], *over, success))
    return first, steps
