"""One agent in a room of its own."""

from ragen_envs.integrations.pettingzoo import aec_env
from tests.ragen_envs.integrations.bridging.scripts import Step


def play(task, answers):
    env = aec_env(task.env, agents=1, split=task.split, response_format=task.response_format)
    env.reset(seed=task.seed, options={"noise_seed": task.noise_seed})
    first = env.last()[0]["text"]
    steps = []
    for answer in answers:
        env.step(answer)
        observation, reward, terminated, truncated, info = env.last()
        success = info["success"] if terminated or truncated else None
        steps.append(Step(observation["text"], reward, terminated, truncated, success))
    return first, steps
