"""An interactive episode and its history."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from ragen_bench.environments import AnyEnv
from ragen_bench.errors import UserError
from ragen_bench.suites import env_id, make_env, split_name
from ragen_envs.core.instances import Split
from ragen_envs.core.sums import sum_in_order


@dataclass(frozen=True)
class EpisodeChoice:
    """The settings of an episode.

    Attributes:
        env: Full environment id.
        split: Split of the instances.
        seed: Instance in the split.
        noise_seed: Seed of the noise.
    """

    env: str
    split: Split
    seed: int
    noise_seed: int

    @property
    def following(self) -> EpisodeChoice:
        """Settings of the episode on the next instance."""
        return replace(self, seed=self.seed + 1)

    def make(self) -> AnyEnv:
        """Make the environment, with plain responses; it is not reset yet."""
        return make_env(self.env, self.split, "plain")


def choose_episode(name: str, split: str, seed: int, noise_seed: int) -> EpisodeChoice:
    """Return the settings that a command names.

    Args:
        name: Environment id, with or without the namespace.
        split: Name of the split.
        seed: Instance in the split.
        noise_seed: Seed of the noise.

    Raises:
        UserError: for an unknown environment or split, or a number below 0.
    """
    if seed < 0 or noise_seed < 0:
        raise UserError("--seed and --noise-seed are at least 0")
    return EpisodeChoice(env_id(name), split_name(split), seed, noise_seed)


class Turn(NamedTuple):
    """One turn of an episode.

    Attributes:
        observation: Observation before the response.
        answer: Response of the player.
        reward: Reward of the response.
    """

    observation: str
    answer: str
    reward: float


class HumanEpisode:
    """An episode and its history.

    Args:
        choice: Settings of the episode.

    Attributes:
        env: The environment, with the legal actions and the remaining budget.
        turns: Finished turns.
        observation: Current observation.
        info: Latest `info` of the environment.
        over: Whether the episode has ended.
        truncated: Whether the budget ended it.
    """

    def __init__(self, choice: EpisodeChoice) -> None:
        self.choice = choice
        self.env = choice.make()
        self.turns: list[Turn] = []
        self.over = self.truncated = False
        self.observation, self.info = self.env.reset(
            seed=choice.seed, options={"noise_seed": choice.noise_seed}
        )

    @property
    def total(self) -> float:
        """The return so far."""
        return sum_rewards(self.turns)

    def play(self, answer: str) -> None:
        """Take a response, which may be any text.

        Raises:
            ResetNeeded: after the end.
        """
        observation, reward, terminated, truncated, info = self.env.step(answer)
        self.turns.append(Turn(self.observation, answer, reward))
        self.observation, self.info = observation, info
        self.over, self.truncated = terminated or truncated, truncated


def sum_rewards(turns: list[Turn]) -> float:
    """Return the sum of the rewards, rounded to nine digits."""
    return round(sum_in_order(turn.reward for turn in turns), 9)
