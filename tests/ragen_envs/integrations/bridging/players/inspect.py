"""The solver of Inspect's tasks, asked by a model that gives the answers one after the other."""

from functools import lru_cache

from inspect_ai.model import ModelOutput
from inspect_ai.solver import TaskState

from ragen_bench.inspect.solving import STORE_KEY
from ragen_bench.inspect.solving import play as solver
from ragen_bench.models.prompt import FIRST, opening
from tests.ragen_envs.integrations.bridging.scripts import Step

NAME = "scripted"


@lru_cache(maxsize=1)
def _solver():
    return solver()


def play(task, answers):
    state = _state(task)
    given = iter(answers)

    async def generate(state, **_options):
        state.output = ModelOutput.from_content(NAME, next(given))
        state.messages.append(state.output.message)
        return state

    state = _awaited(_solver()(state, generate))
    told = state.store.get(STORE_KEY)
    seen = [m.text for m in state.messages if m.role == "user"]
    first, *observations = seen[len(opening(task.response_format)) // 2 :]
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
    return first.removeprefix(FIRST), steps


def _state(task):
    metadata = {
        "env": task.env,
        "seed": task.seed,
        "split": task.split,
        "response_format": task.response_format,
    }
    return TaskState(NAME, "", task.noise_seed + 1, "", [], metadata=metadata)


def _awaited(coroutine):
    """Return what a coroutine returns that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("the solver waits for something else than the model")
