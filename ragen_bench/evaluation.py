"""One evaluation from its configuration to its summary; the same command resumes it."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ragen_bench.models import Model, Sampling, ServerOptions
from ragen_bench.prompt import prompt_hash
from ragen_bench.records import SCHEMA, Key, Record, RunDirectory, key_of, open_run
from ragen_bench.runner import Task, chunks, play, tasks_of
from ragen_bench.specification import spec_hash
from ragen_envs.instances import Split
from ragen_envs.protocol import STOP, ResponseFormat
from ragen_envs.sealed import open_key

_PACKAGES = ("ragen-bench", "gymnasium", "numpy", "torch", "transformers", "tokenizers")


@dataclass(frozen=True)
class Evaluation:
    """What is evaluated.

    Attributes:
        model: the model's name.
        suite: the suite's name, or "" for a choice of environments.
        instances: how many instances of each environment.
        split: where they come from.
        response_format: the form of the answers.
        samples: episodes on each instance.
        seed: decides the sampling and the rollouts' noise.
        temperature: 0 for greedy answers.
        max_tokens: tokens in one answer at most.
        command: how the run was started, for the record.
        server: how the model's server is reached, if it has one; it is not recorded.
    """

    model: str
    suite: str
    instances: dict[str, int]
    split: Split
    response_format: ResponseFormat
    samples: int
    seed: int
    temperature: float
    max_tokens: int
    command: str = ""
    server: ServerOptions | None = None

    @property
    def sampling(self) -> Sampling:
        """How answers are sampled."""
        return Sampling(self.temperature, self.max_tokens, STOP, self.seed)

    def config(self, model: Model) -> Record:
        """Return the content of run.json; of a sealed split's key it holds the hash alone.

        Raises:
            SealedKeyError: if the split is sealed and there is no key.
        """
        return {
            "schema": SCHEMA,
            "model": self.model,
            "model_identity": model.identity(),
            "batch_size": model.batch_size,
            "suite": self.suite,
            "split": self.split,
            **({"sealed_key_hash": open_key()} if self.split == "sealed" else {}),
            "samples": self.samples,
            "seed": self.seed,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "response_format": self.response_format,
            "prompt_hash": prompt_hash(self.response_format),
            "envs": [
                {
                    "id": env,
                    "instances": count,
                    "spec_hash": spec_hash(env, self.split, self.response_format),
                }
                for env, count in self.instances.items()
            ],
            "versions": _versions(),
            "command": self.command,
        }

    def tasks(self) -> list[Task]:
        """Return the episodes, in the order of the record."""
        return tasks_of(self.instances, self.split, self.samples)


def evaluate(
    evaluation: Evaluation,
    model: Model,
    path: Path,
    progress: Callable[[int, int, str], None] = lambda episodes, answers, env: None,
    say: Callable[[str], None] = lambda line: None,
) -> RunDirectory:
    """Play what is missing of a run and record it.

    Args:
        evaluation: what to evaluate.
        model: the model of `evaluation.model`.
        path: the run directory; one that holds a part of this run is completed.
        progress: called after each turn with the number of recorded episodes, the answers given
            by this process, and the environment that is played.
        say: called with a line for the user.

    Returns:
        The directory, complete and still locked.

    Raises:
        UserError: if the directory holds something else.
    """
    run = open_run(path, evaluation.config(model))
    try:
        if run.repair():
            say(f"A torn last line in {path} was cut off; its episode is played again.")
        recorded = {key_of(episode) for episode in run.episodes()}
        if recorded:
            say(f"Resuming {path}: {len(recorded)} episodes are there already.")
        progress(len(recorded), 0, "")
        answers = 0
        for group in _missing(evaluation, model, recorded):
            start = time.perf_counter()

            def on_turn(count: int, env: str = group[0].env) -> None:
                nonlocal answers
                answers += count
                progress(len(recorded), answers, env)

            episodes = play(group, model, evaluation.sampling, evaluation.response_format, on_turn)
            elapsed = time.perf_counter() - start
            new = [episode for episode in episodes if key_of(episode) not in recorded]
            run.append(new, {"seconds": _shares(group, elapsed)})
            recorded.update(map(key_of, new))
            progress(len(recorded), answers, group[-1].env)
    except BaseException:
        run.unlock()
        raise
    return run


def _missing(evaluation: Evaluation, model: Model, recorded: set[Key]) -> Iterator[list[Task]]:
    """Yield the groups of which at least one episode is not recorded."""
    for group in chunks(evaluation.tasks(), model.batch_size):
        if any((t.env, t.split, t.index, t.sample) not in recorded for t in group):
            yield list(group)


def _shares(group: list[Task], elapsed: float) -> dict[str, float]:
    shares: dict[str, float] = {}
    for task in group:
        shares[task.env] = shares.get(task.env, 0.0) + elapsed / len(group)
    return {env: round(seconds, 4) for env, seconds in shares.items()}


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
