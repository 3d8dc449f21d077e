"""SkyRL-Gym's interface: an environment for each episode, made of a row, as its generator does."""

from dataclasses import asdict

import skyrl_gym

import ragen_envs.integrations.skyrl_gym  # noqa: F401
from tests.ragen_envs.integrations.bridging.scripts import Step


def play(task, answers):
    row = {**asdict(task), "rollout": task.noise_seed}
    env = skyrl_gym.make(task.env, env_config={}, extras=row)
    [first], _ = env.init([])
    steps = []
    for answer in answers:
        made = env.step(answer)
        told = made["metadata"]
        assert made["done"] is (told["terminated"] or told["truncated"])
        said = [message["content"] for message in made["observations"]]
        assert said == ([] if made["done"] else [told["observation"]])
        ends = told["terminated"], told["truncated"]
        steps.append(Step(told["observation"], made["reward"], *ends, told.get("success")))
    env.close()
    return first["content"], steps
