"""The suite's games as environments of SkyRL-Gym.

Needs the extra `skyrl`. Importing it registers the suite's ids and those of installed games in
SkyRL-Gym, and the id "ragen" for any other text environment of Gymnasium's registry:

    import skyrl_gym
    import ragen_envs.integrations.skyrl_gym
    env = skyrl_gym.make("ragen/Sokoban-v0", env_config={}, extras={"seed": 0})
"""

from __future__ import annotations

from ragen_envs.core import extras

with extras.required("ragen_envs.integrations.skyrl_gym", "skyrl_gym", "skyrl", "skyrl-gym 0.4"):
    import skyrl_gym  # type: ignore[import-untyped]

from collections.abc import Iterable, Iterator, Mapping

from skyrl_gym.envs.base_text_env import (  # type: ignore[import-untyped]
    BaseTextEnv,
    BaseTextEnvStepOutput,
)
from skyrl_gym.metrics import default_aggregate_metrics  # type: ignore[import-untyped]

from ragen_envs.core.game_spec import NAMESPACE
from ragen_envs.core.text_game import Info
from ragen_envs.integrations.bridging import Episode, NoiseSeedCounter, Task
from ragen_envs.registration import all_ids

__all__ = ["SkyRLEnv", "rows"]

Conversation = list[dict[str, str]]
_NOISE_SEEDS = NoiseSeedCounter.of_process()


class SkyRLEnv(BaseTextEnv):  # type: ignore[misc]
    """One episode of the task in a row of the data set, see `rows`.

    Args:
        env_config: SkyRL's configuration of the environment: extra arguments of the environment.
        extras: The row without its prompt: `seed`; `split`, by default "train"; `response_format`,
            by default "think"; `rollout`, the noise seed; `max_turns`, SkyRL's limit, which
            truncates the episode; `env`, if the id is "ragen". Without a noise seed, the n-th
            environment of an instance in this process takes the n-th one, as in a group. Other
            entries are ignored.
        env: The environment's id.

    Attributes:
        task: The row's task.
        episode: The episode that is played.
        max_turns: SkyRL's limit; None without one.
        turns: Number of turns taken.

    Raises:
        ValueError: The row has no seed, or the environment rejects an entry.
    """

    def __init__(
        self,
        env_config: Mapping[str, object] | None = None,
        extras: Info | None = None,
        env: str | None = None,
    ) -> None:
        super().__init__()
        row = extras or {}
        env = env or row.get("env")
        if env is None:
            raise ValueError("the row has no env; add one, or use the environment's own id")
        if "seed" not in row:
            raise ValueError(
                "the row has no seed; ragen_envs.integrations.skyrl_gym.rows makes complete rows"
            )
        seed, split, noise_seed = row["seed"], row.get("split", "train"), row.get("rollout")
        if noise_seed is None:
            noise_seed = _NOISE_SEEDS.next(env, split, seed)
        self.task = Task(env, seed, noise_seed, split, row.get("response_format", "think"))
        self.episode = Episode(
            self.task.env, self.task.split, self.task.response_format, **dict(env_config or {})
        )
        self.max_turns: int | None = row.get("max_turns")

    def init(self, prompt: Conversation) -> tuple[Conversation, Info]:
        """Start the episode; return the row's messages with the first observation, and the info."""
        message = _user(self.episode.reset(self.task.seed, self.task.noise_seed))
        self.turns = 0
        is_present = prompt and prompt[-1] == message
        return [*prompt, *([] if is_present else [message])], self.episode.info

    def step(self, action: str) -> BaseTextEnvStepOutput:
        """Take one response; errors are those of `Episode.step`.

        The output has `observations`, one message, or none at the end; `reward`; `done`; and
        `metadata`: the `observation`, `terminated`, `truncated` (by the budget or `max_turns`), and
        the info.
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

    def get_metrics(self) -> dict[str, float]:
        """Return the episode's turns and return, and after its end success and score."""
        score = {name: value for name, value in self.episode.info.items() if name == "score"}
        success = self.episode.success
        return {
            "turns": len(self.episode.turns),
            "return": self.episode.total_reward,
            **score,
            **({} if success is None else {"success": float(success)}),
        }

    @staticmethod
    def aggregate_metrics(metrics: list[dict[str, float]]) -> dict[str, float]:
        """Return the means over episodes.

        Episodes without a success or score, which were cut short, count as 0 where others have one.
        """
        names = {name for of in metrics for name in ("success", "score") if name in of}
        whole = [dict.fromkeys(names, 0.0) | of for of in metrics]
        means: dict[str, float] = default_aggregate_metrics(whole)
        return means

    def close(self) -> None:
        """Release the environment's resources."""
        self.episode.close()


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def rows(tasks: Iterable[Task], own_noise: bool = True) -> Iterator[dict[str, object]]:
    """Yield a row for each task, of plain values.

    A row holds the `prompt` with the first observation, whose length SkyRL filters by, SkyRL's
    `env_class`, and the task's fields.

    Args:
        tasks: Tasks, as of `ragen_envs.integrations.bridging.tasks`.
        own_noise: Give each of SkyRL's copies of a row noise of its own, as in training. Otherwise
            all have the task's noise seed, as in an evaluation.

    Raises:
        ValueError: A task cannot be played.
    """
    episodes: dict[tuple[str, str, str], Episode] = {}
    for task in tasks:
        key = task.env, task.split, task.response_format
        if key not in episodes:
            episodes[key] = Episode(*key)
        first = episodes[key].reset(task.seed, task.noise_seed)
        yield {
            "prompt": [_user(first)],
            "env_class": task.env if task.env in all_ids() else NAMESPACE,
            "env": task.env,
            "seed": task.seed,
            "rollout": None if own_noise else task.noise_seed,
            "split": task.split,
            "response_format": task.response_format,
        }


for _id in all_ids():
    skyrl_gym.register(_id, "ragen_envs.integrations.skyrl_gym:SkyRLEnv", {"env": _id})
skyrl_gym.register(NAMESPACE, "ragen_envs.integrations.skyrl_gym:SkyRLEnv")
