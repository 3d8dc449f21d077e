"""An episode that a person plays: its choice and its history."""

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
    """The choice of an episode.

    Attributes:
        env: the full id.
        split: the split of its instances.
        seed: the instance of the split.
        noise_seed: the noise of the dynamics.
    """

    env: str
    split: Split
    seed: int
    noise_seed: int

    @property
    def following(self) -> EpisodeChoice:
        """The episode on the next instance."""
        return replace(self, seed=self.seed + 1)

    def make(self) -> AnyEnv:
        """Return its environment, not yet reset; answers are in the plain form."""
        return make_env(self.env, self.split, "plain")


def choose_episode(name: str, split: str, seed: int, noise_seed: int) -> EpisodeChoice:
    """Return the episode that a command names.

    Args:
        name: the environment's name; the namespace may be left out.
        split: the split's name.
        seed: the instance.
        noise_seed: the noise.

    Raises:
        UserError: for an unknown environment or split, or a number below 0.
    """
    if seed < 0 or noise_seed < 0:
        raise UserError("--seed and --noise-seed are at least 0")
    return EpisodeChoice(env_id(name), split_name(split), seed, noise_seed)


class Turn(NamedTuple):
    """One turn of an episode.

    Attributes:
        observation: what the player was shown.
        answer: what the player answered.
        reward: the reward of the answer.
    """

    observation: str
    answer: str
    reward: float


class HumanEpisode:
    """An episode and its history.

    Args:
        choice: the episode to play.

    Attributes:
        env: the environment, which tells the legal actions and the budget that is left.
        turns: the turns that are over.
        observation: what the player is shown now.
        info: the latest `info` of the environment.
        over: whether the episode has ended.
        truncated: whether the budget ended it.
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
        return total_of(self.turns)

    def play(self, answer: str) -> None:
        """Take an answer, which may be any text.

        Raises:
            ResetNeeded: after the end.
        """
        observation, reward, terminated, truncated, info = self.env.step(answer)
        self.turns.append(Turn(self.observation, answer, reward))
        self.observation, self.info = observation, info
        self.over, self.truncated = terminated or truncated, truncated


def total_of(turns: list[Turn]) -> float:
    """Return the sum of the rewards, without the rounding errors of its terms."""
    return round(sum_in_order(turn.reward for turn in turns), 9)
