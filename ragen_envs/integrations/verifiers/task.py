"""A task: one instance with one noise seed, its rewards, and its oracle."""

from __future__ import annotations

from typing import Any

import verifiers.v1 as vf

from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import ResponseFormat
from ragen_envs.core.sums import sum_in_order
from ragen_envs.core.text_env import TextEnv
from ragen_envs.integrations.bridging import Episode
from ragen_envs.registration import find_reference

EPISODE_KEY = "episode"
"""Key of a trace's `info` with the episode's summary: the rewards of its turns, whether the rules
or the budget ended it, success and score if known, and the last observation, which no model reads.
"""


class TextEnvData(vf.TaskData):  # type: ignore[misc]
    """The data of a task; `prompt` is the first observation.

    Attributes:
        env: Id in Gymnasium's registry, or MODULE:ID.
        seed: Index of the instance in the split.
        rollout: The noise seed.
        split: Split of the instance.
        response_format: Format of the responses.
        group: Name of the instance, whose tasks differ in their noise only.
    """

    env: str
    seed: int
    rollout: int
    split: Split
    response_format: ResponseFormat
    group: str


def summarize(episode: Episode) -> dict[str, Any]:
    """Return the summary of an episode so far, see `EPISODE_KEY`."""
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
    """An episode to play; its reward is the return."""

    def episode(self) -> Episode:
        """Return the episode of this task after its reset."""
        data = self.data
        episode = Episode(data.env, data.split, data.response_format)
        episode.reset(data.seed, data.rollout)
        return episode

    @vf.reward  # type: ignore[untyped-decorator]
    async def episode_return(self, trace: vf.Trace) -> float:
        """Return the sum of the rewards."""
        return sum_in_order(trace.info.get(EPISODE_KEY, {}).get("rewards", []))

    @vf.metric  # type: ignore[untyped-decorator]
    async def outcome(self, trace: vf.Trace) -> dict[str, float]:
        """Return success and score, if the environment reports them, and the number of turns."""
        known = trace.info.get(EPISODE_KEY, {})
        values = {"success": known.get("success"), "score": known.get("score")}
        found = {name: float(value) for name, value in values.items() if value is not None}
        return {**found, "turns": float(len(known.get("rewards", [])))}

    async def validate(self, runtime: vf.Runtime) -> bool | None:  # noqa: ARG002 (verifiers')
        """Return whether the instance can be solved; None without an oracle.

        With noise the oracle may fail by bad luck. Then the instance is valid if the optimal
        success probability, which the environment knows exactly, is above 0 and below 1. If the
        oracle is a reference player, whose probability is an estimate, the result is None.
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
