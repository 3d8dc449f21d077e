"""Inspect tasks: one for each suite, and one for any environments.

`inspect list tasks` reads this file without running it, so each task is a function with `@task`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from inspect_ai import Epochs, Task, task
from inspect_ai._util.error import PrerequisiteError  # printed as one line
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import HeadlineMetric
from inspect_ai.model import GenerateConfig

from ragen_bench.episodes.evaluation import Evaluation
from ragen_bench.errors import UserError
from ragen_bench.inspect.scoring import figures_of_episode
from ragen_bench.inspect.solving import play
from ragen_bench.json_types import JsonObject
from ragen_bench.settings.build import build_evaluation
from ragen_bench.settings.options import EvaluationOptions as Default
from ragen_bench.settings.options import parse_options
from ragen_bench.suites import find_suite, response_format_of
from ragen_envs.core.sealed import SealedKeyError, open_drawn_key

T = TypeVar("T")


@task
def quick(
    split: str = Default.split,
    limit: int | None = Default.limit,
    samples: int = Default.samples,
    format: str | None = Default.format,
    history: str | int = Default.history,
    seed: int = Default.seed,
    *,
    thinking_marks: str | None = Default.thinking_marks,
) -> Task:
    """Bandit, Sokoban and FrozenLake in a few minutes.

    Args:
        split: Split of the instances: "train", "val", "test" or "sealed".
        limit: Maximum number of instances of each environment; None for all.
        samples: Number of episodes on each instance, with different noise; Inspect's epochs.
        format: Response format: "think", "answer" or "plain"; None for "think".
        history: Past turns in the prompt: "full", "none" or a number.
        seed: Seed of the environments' noise.
        thinking_marks: Marks of the model's thoughts, a name or "OPEN CLOSE"; None for
            `<think>` and `</think>`.
    """
    return _task(locals(), suite="quick")


@task
def core(
    split: str = Default.split,
    limit: int | None = Default.limit,
    samples: int = Default.samples,
    format: str | None = Default.format,
    history: str | int = Default.history,
    seed: int = Default.seed,
    *,
    thinking_marks: str | None = Default.thinking_marks,
) -> Task:
    """The families of the RAGEN paper, all held-out instances; see `quick` for the arguments."""
    return _task(locals(), suite="core")


@task(name="core-2")
def core_2(
    split: str = Default.split,
    limit: int | None = Default.limit,
    samples: int = Default.samples,
    format: str | None = Default.format,
    history: str | int = Default.history,
    seed: int = Default.seed,
    *,
    thinking_marks: str | None = Default.thinking_marks,
) -> Task:
    """One environment of each of ten families; see `quick` for the arguments."""
    return _task(locals(), suite="core-2")


@task
def full(
    split: str = Default.split,
    limit: int | None = Default.limit,
    samples: int = Default.samples,
    format: str | None = Default.format,
    history: str | int = Default.history,
    seed: int = Default.seed,
    *,
    thinking_marks: str | None = Default.thinking_marks,
) -> Task:
    """Every environment, all held-out instances; see `quick` for the arguments."""
    return _task(locals(), suite="full")


@task
def envs(
    env: str | Sequence[str],
    split: str = Default.split,
    limit: int | None = Default.limit,
    samples: int = Default.samples,
    format: str | None = Default.format,
    history: str | int = Default.history,
    seed: int = Default.seed,
    *,
    thinking_marks: str | None = Default.thinking_marks,
) -> Task:
    """Environments by their ids; see `quick` for the other arguments.

    Args:
        env: One or more ids; MODULE:ID imports the module that registers it.
        split: See `quick`.
        limit: See `quick`.
        samples: See `quick`.
        format: See `quick`; None for the environments' own format.
        history: See `quick`.
        seed: See `quick`.
        thinking_marks: See `quick`.
    """
    if not env:
        raise PrerequisiteError("env is empty; name one or several environments")
    return _task(locals())


def _task(arguments: JsonObject, suite: str | None = None) -> Task:
    # Inspect provides the model; the settings need a name of a provider that supports them all.
    given = {**arguments, "model": "hf/inspect", "history": str(arguments["history"])}
    given["suite"] = suite
    evaluation = _raise_prerequisite(lambda: _evaluation(given))
    if evaluation.split == "sealed":
        _raise_prerequisite(open_drawn_key)
    sampling = evaluation.sampling
    # Inspect's reducers for k = 1, 2, 4, ... up to the number of samples.
    pass_at = [f"pass_at_{1 << power}" for power in range(evaluation.samples.bit_length())]
    samples = [  # for each instance, in the harness's order
        Sample(
            id=f"{env}/{evaluation.split}/{seed}",
            input=f"{env}, split {evaluation.split}, instance {seed}",
            metadata={
                "env": env,
                "seed": seed,
                "split": evaluation.split,
                "response_format": evaluation.response_format,
                "environments": len(evaluation.instances),
            },
        )
        for env, count in evaluation.instances.items()
        for seed in range(count)
    ]
    return Task(
        dataset=MemoryDataset(samples, name=suite or "envs"),
        solver=play(evaluation.history, evaluation.seed, evaluation.thinking_marks),
        scorer=figures_of_episode(),
        epochs=Epochs(evaluation.samples, ["mean", *pass_at]),
        config=GenerateConfig(temperature=sampling.temperature, max_tokens=sampling.max_tokens),
        version=find_suite(suite).version if suite else 0,
        headline_metric=HeadlineMetric(score="score"),
    )


def _evaluation(given: JsonObject) -> Evaluation:
    options = parse_options(given)
    if options.format is not None:
        response_format_of(options.format)  # the solver does not support "tools"
    return build_evaluation(options)


def _raise_prerequisite(make: Callable[[], T]) -> T:
    """Call a function; turn a user's mistake into Inspect's one-line error."""
    try:
        return make()
    except (UserError, SealedKeyError) as error:
        # Inspect parses messages as markup, where brackets are tags.
        raise PrerequisiteError(str(error).replace("[", r"\[")) from None
