"""TextArena's interface: the messages of the game, and the info of each step."""

from functools import lru_cache

import textarena

import ragen_envs.integrations.textarena  # noqa: F401
from tests.ragen_envs.integrations.bridging.scripts import Step


@lru_cache
def made(id_, split, response_format, noise_seed):
    options = {"split": split, "response_format": response_format, "noise_seed": noise_seed}
    return textarena.make(f"{id_}-raw", **options)


def play(task, answers):
    env = made(task.env, task.split, task.response_format, task.noise_seed)
    env.reset(num_players=1, seed=task.seed)
    (_, prompt, _), (_, board, _) = env.get_observation()[1]
    first = env.state.game_state["observation"]
    before, after = first.split(f"\n\n{board}\n\n")
    assert prompt == f"{before}\n\n{after}"
    steps = []
    for answer in answers:
        done, told = env.step(answer)
        (_, said, _), (_, feedback, _), (_, board, _) = env.get_observation()[1]
        assert said == answer
        assert done is (told["terminated"] or told["truncated"])
        ends = told["terminated"], told["truncated"]
        success = told["success"] if done else None
        steps.append(Step(f"{feedback}\n{board}", told["reward"], *ends, success))
    rewards, _ = env.close()
    assert rewards == {0: round(sum(step.reward for step in steps), 10)}
    return first, steps
