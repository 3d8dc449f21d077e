"""Plays episodes, many in flight; it knows no game and no statistic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ragen_bench.models.base import Completion, Model, Request, Sampling
from ragen_bench.prompt import conversation
from ragen_bench.suites import make_env
from ragen_envs.instances import Split
from ragen_envs.protocol import ActionReader, ResponseFormat

Record = dict[str, Any]
"""One finished episode, as a line of episodes.jsonl holds it."""
_SAMPLES_A_SEED = 1 << 20


@dataclass(frozen=True)
class Task:
    """One episode to play.

    Attributes:
        env: the environment's id.
        split: where the instance comes from.
        index: the instance's seed in the split.
        sample: which of several episodes on the same instance.
    """

    env: str
    split: Split
    index: int
    sample: int

    @property
    def key(self) -> str:
        """The name of the episode in its run."""
        return f"{self.env}/{self.split}/{self.index}/{self.sample}"


def tasks_of(instances: dict[str, int], split: Split, samples: int) -> list[Task]:
    """Return the episodes of a run, in the order in which they are played and recorded."""
    return [
        Task(env, split, index, sample)
        for env, count in instances.items()
        for index in range(count)
        for sample in range(samples)
    ]


def chunks(tasks: Sequence[Task], size: int) -> Iterator[Sequence[Task]]:
    """Yield the tasks in groups that are played together.

    The groups depend on nothing but the run's configuration, and a group is always played whole:
    the rounding of a batched model depends on the batch, so a resumed run must meet the same ones.
    """
    for start in range(0, len(tasks), size):
        yield tasks[start : start + size]


def play(
    tasks: Sequence[Task],
    model: Model,
    sampling: Sampling,
    response_format: ResponseFormat,
    on_turn: Callable[[int], None] = lambda answers: None,
) -> list[Record]:
    """Play episodes side by side, one request a turn each, and return their records in order.

    Args:
        tasks: the episodes.
        model: who answers.
        sampling: how.
        response_format: the form of the answers.
        on_turn: called after each turn with the number of answers that it brought.
    """
    episodes = [_Episode(task, sampling.seed, response_format) for task in tasks]
    while running := [episode for episode in episodes if not episode.over]:
        completions = model.complete([episode.request() for episode in running], sampling)
        for episode, completion in zip(running, completions, strict=True):
            episode.take(completion)
        on_turn(len(completions))
    return [episode.record() for episode in episodes]


class _Episode:
    """One episode under way."""

    def __init__(self, task: Task, seed: int, response_format: ResponseFormat) -> None:
        self._task = task
        self._format = response_format
        self._rollout = seed * _SAMPLES_A_SEED + task.sample
        self._env = make_env(task.env, task.split, response_format)
        observation, self._info = self._env.reset(
            seed=task.index, options={"rollout": self._rollout}
        )
        self._observations = [observation]
        self._answers: list[str] = []
        self._turns: list[Record] = []
        self.over = False

    def request(self) -> Request:
        """Return what the model is asked next."""
        messages = conversation(self._observations, self._answers, self._format)
        return Request(messages, f"{self._task.key}/{len(self._turns)}", self._env)

    def take(self, completion: Completion) -> None:
        """Step the environment with an answer."""
        reader = ActionReader(self._env.legal_actions, "")
        named = reader.read(completion.text, self._format).actions
        observation, reward, terminated, truncated, info = self._env.step(completion.text)
        self._turns.append(
            {
                "observation": self._observations[-1],
                "answer": completion.text,
                "actions": [reader.actions[i] for i in named],
                "reward": reward,
                "terminated": terminated,
                "truncated": truncated,
                "format_is_valid": info["format_is_valid"],
                "action_is_valid": info["action_is_valid"],
                "action_is_effective": info["action_is_effective"],
                "answer_is_example": info["answer_is_example"],
                "prompt_tokens": completion.prompt_tokens,
                "completion_tokens": completion.completion_tokens,
            }
        )
        self._observations.append(observation)
        self._answers.append(completion.text)
        self._info = info
        self.over = terminated or truncated

    def record(self) -> Record:
        """Return the finished episode."""
        info = self._info
        return {
            "env": self._task.env,
            "split": self._task.split,
            "index": self._task.index,
            "sample": self._task.sample,
            "rollout": self._rollout,
            "instance": info["instance"],
            "ceiling": info["ceiling"],
            "optimal_length": info.get("optimal_length"),
            "outcome": self._outcome(),
            "success": info["success"],
            "score": info["score"],
            "return": round(sum(turn["reward"] for turn in self._turns), 6),
            "turns": self._turns,
            "final_observation": self._observations[-1],
        }

    def _outcome(self) -> str:
        if self._info["success"]:
            return "success"
        if not any(turn["format_is_valid"] for turn in self._turns):
            return "invalid_format"
        return "failure" if self._turns[-1]["terminated"] else "truncated"
