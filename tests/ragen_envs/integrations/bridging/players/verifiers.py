"""The environment of verifiers in its own virtual environment, with a scripted agent."""

from functools import lru_cache

from tests.ragen_envs.integrations.bridging.scripts import INSTANCES, ROLLOUTS, Step
from tests.ragen_envs.integrations.verifiers.place import driver


@lru_cache(maxsize=1)
def _tasks(env, split):
    config = {"env": env, "split": split, "instances": INSTANCES, "rollouts": ROLLOUTS}
    return {(data["seed"], data["rollout"]): data for data in driver().ask(config=config)}


def play(task, answers):
    data = _tasks(task.env, task.split)[task.seed, task.noise_seed]
    told = driver().ask(data=data, answers=answers)
    first, *observations = [*told["read"], told["final_observation"]]
    last = len(answers) - 1
    steps = [
        Step(
            observation,
            reward,
            turn == last and told["terminated"],
            turn == last and told["truncated"],
            told["success"] if turn == last else None,
        )
        for turn, (observation, reward) in enumerate(
            zip(observations, told["rewards"], strict=True)
        )
    ]
    return first, steps
