"""A text environment of Gymnasium's registry as SkyRL-Gym's text environments are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from skyrl_gym.envs.base_text_env import (  # type: ignore[import-untyped]
    BaseTextEnv,
    BaseTextEnvStepOutput,
)

import ragen_envs  # noqa: F401  (its ids)
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import ResponseFormat
from ragen_envs.integrations.bridging import Episode, NoiseSeedCounter, Task

Conversation = list[dict[str, str]]
_NOISE_SEEDS = NoiseSeedCounter.of_process()


class SkyRLEnv(BaseTextEnv):  # type: ignore[misc]
    """One episode of the task that a row of the data set names; see `rows`.

    Args:
        env_config: SkyRL's configuration of the environment; its entries are the environment's
            further arguments.
        extras: the row but its prompt: `seed`; `split`, "train" unless it says more;
            `response_format`, "think" unless it says more; `rollout`, which noise: without one,
            or None, the n-th environment of an instance in this process takes the n-th, as the
            members of a group do; `max_turns`, SkyRL's limit, after which the episode is cut short;
            `env`, where the id is "ragen". Other entries are not looked at.
        env: the environment's id.

    Attributes:
        task: what is played.
        episode: that is played.

    Raises:
        ValueError: for a row without a seed, or with an entry that the environment refuses.
    """

    def __init__(
        self,
        env_config: Mapping[str, Any] | None = None,
        extras: Mapping[str, Any] | None = None,
        env: str | None = None,
    ) -> None:
        super().__init__()
        row = extras or {}
        self.task = _task(env or row.get("env"), row)
        self.episode = Episode(
            self.task.env, self.task.split, self.task.response_format, **dict(env_config or {})
        )
        self.max_turns: int | None = row.get("max_turns")

    def init(self, prompt: Conversation) -> tuple[Conversation, dict[str, Any]]:
        """Start the episode.

        Args:
            prompt: the row's messages, perhaps none.

        Returns:
            The messages with the first observation as the last one, which is not said twice; and
            what may be told, see `Episode.info`.

        Raises:
            ValueError: for a seed or noise seed that is not an int of at least 0.
        """
        message = _user(self.episode.reset(self.task.seed, self.task.noise_seed))
        self.turns = 0
        shown = prompt and prompt[-1] == message
        return [*prompt, *([] if shown else [message])], self.episode.info

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Take one answer.

        Returns:
            What SkyRL asks for: `observations`, one message, or none at the end; `reward`; `done`;
            and `metadata`: the `observation`, whether the episode `terminated` or was `truncated`,
            by its own budget or by `max_turns`, and what may be told.

        Raises:
            ResetNeeded: before `init` and after the end of the episode.
            TypeError: if the answer is not a str.
        """
        turn = self.episode.step(action)
        self.turns += 1
        cut = not turn.terminated and self.max_turns is not None and self.turns >= self.max_turns
        done = turn.done or cut
        ends = {"terminated": turn.terminated, "truncated": turn.truncated or cut}
        return BaseTextEnvStepOutput(
            observations=[] if done else [_user(turn.observation)],
            reward=turn.reward,
            done=done,
            metadata={"observation": turn.observation, **ends, **turn.info},
        )

    def get_metrics(self) -> dict[str, Any]:
        """Return the episode's turns and return, and at its end its success and score."""
        told = {name: value for name, value in self.episode.info.items() if name == "score"}
        success = self.episode.success
        return {
            "turns": len(self.episode.turns),
            "return": self.episode.total_reward,
            **told,
            **({} if success is None else {"success": float(success)}),
        }

    def close(self) -> None:
        """Free what the environment holds; it is not used again."""
        self.episode.close()


def _task(env: str | None, row: Mapping[str, Any]) -> Task:
    if env is None:
        raise ValueError("the row has no env: give it one, or take the environment's own id")
    if "seed" not in row:
        raise ValueError(
            "the row has no seed: ragen_envs.integrations.skyrl_gym.rows makes complete rows"
        )
    seed, noise_seed = row["seed"], row.get("rollout")
    split = cast(Split, row.get("split", "train"))
    if noise_seed is None:
        noise_seed = _NOISE_SEEDS.next(env, split, seed)
    response_format = cast(ResponseFormat, row.get("response_format", "think"))
    return Task(env, seed, noise_seed, split, response_format)


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}
