"""A task: one instance with one course of noise, its rewards, and its oracle."""

from __future__ import annotations

from typing import Any

import verifiers.v1 as vf

from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import ResponseFormat
from ragen_envs.core.sums import sum_in_order
from ragen_envs.core.text_env import TextEnv
from ragen_envs.integrations.bridging import Episode
from ragen_envs.registration import find_reference

TOLD = "episode"
"""The key of a trace's `info` under which it says what became of the episode: the rewards of its
answers, whether rules or budget ended it, success and score as far as they are told, and the last
observation, which no model is shown."""


class TextEnvData(vf.TaskData):  # type: ignore[misc]
    """What a task is of; `prompt` is the first observation.

    Attributes:
        env: an id of Gymnasium's registry, or MODULE:ID.
        seed: which instance of the split.
        rollout: which noise.
        split: where the instance comes from.
        response_format: the form of the answers.
        group: the same for the tasks of an instance, which differ in their noise alone.
    """

    env: str
    seed: int
    rollout: int
    split: Split
    response_format: ResponseFormat
    group: str


def told(episode: Episode) -> dict[str, Any]:
    """Return what a trace keeps of an episode so far, see `TOLD`."""
    last = episode.turns[-1]
    return {
        "rewards": [turn.reward for turn in episode.turns],
        "terminated": last.terminated,
        "truncated": last.truncated,
        "success": episode.success,
        "score": last.info.get("score"),
        "final_observation": last.observation if last.done else "",
    }


class TextEnvTask(vf.Task[TextEnvData]):  # type: ignore[misc]
    """An episode to play; its reward is the episode's return."""

    def episode(self) -> Episode:
        """Return the episode of this task, begun."""
        data = self.data
        episode = Episode(data.env, data.split, data.response_format)
        episode.reset(data.seed, data.rollout)
        return episode

    @vf.reward  # type: ignore[untyped-decorator]
    async def episode_return(self, trace: vf.Trace) -> float:
        """Return the sum of the rewards."""
        return sum_in_order(trace.info.get(TOLD, {}).get("rewards", []))

    @vf.metric  # type: ignore[untyped-decorator]
    async def outcome(self, trace: vf.Trace) -> dict[str, float]:
        """Return success and score, as far as the environment tells them, and the turns."""
        known = trace.info.get(TOLD, {})
        values = {"success": known.get("success"), "score": known.get("score")}
        found = {name: float(value) for name, value in values.items() if value is not None}
        return {**found, "turns": float(len(known.get("rewards", [])))}

    async def validate(self, runtime: vf.Runtime) -> bool | None:  # noqa: ARG002 (verifiers')
        """Return whether the oracle solves the instance; None if there is no oracle.

        Where noise may spoil what is best, the oracle may fail in this course of it; then it counts
        that the best player succeeds with some chance, which the environment knows exactly. Where
        the oracle is a reference player, whose chance is an estimate, nothing is told.
        """
        data, episode = self.data, self.episode()
        inner = episode.env.unwrapped
        if not isinstance(inner, TextEnv):
            return None
        _, info = inner.reset(seed=data.seed, options={"noise_seed": data.rollout})
        episode.reset(data.seed, data.rollout)
        while not episode.done:
            episode.step(episode.oracle())
        if not episode.success and find_reference(data.env.rpartition(":")[2]):
            return None
        return bool(episode.success) or 0 < info["ceiling"] < 1
