"""One episode that a person plays: which it is, and what has happened in it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ragen_bench.errors import UserError
from ragen_bench.suites import env_id, make_env, split_name
from ragen_envs.instances import Split
from ragen_envs.text_env import TextEnv


@dataclass(frozen=True)
class Chosen:
    """Which episode is played.

    Attributes:
        env: the full id.
        split: of its instances.
        seed: which instance of the split.
        rollout: which noise of the dynamics.
    """

    env: str
    split: Split
    seed: int
    rollout: int

    @property
    def following(self) -> Chosen:
        """The episode on the next instance."""
        return replace(self, seed=self.seed + 1)

    def make(self) -> TextEnv[Any, Any]:
        """Return its environment, to be reset; answers are in the plain form."""
        return make_env(self.env, self.split, "plain")


def chosen(name: str, split: str, seed: int, rollout: int) -> Chosen:
    """Return the episode that a command names.

    Args:
        name: of the environment; the namespace may be left out.
        split: its name.
        seed: which instance.
        rollout: which noise.

    Raises:
        UserError: for an unknown environment or split, or a number below 0.
    """
    if seed < 0 or rollout < 0:
        raise UserError("--seed and --rollout are at least 0")
    return Chosen(env_id(name), split_name(split), seed, rollout)


class Turn(NamedTuple):
    """One turn of an episode.

    Attributes:
        observation: what the player was shown.
        answer: what the player answered.
        reward: what that gave.
    """

    observation: str
    answer: str
    reward: float


class Game:
    """An episode and its history.

    Args:
        played: which episode.

    Attributes:
        env: the environment, for what may be answered and what is left.
        turns: those that are over.
        observation: what the player is shown now.
        info: the environment's, of now.
        over: whether the episode has ended.
        truncated: whether the budget ended it.
    """

    def __init__(self, played: Chosen) -> None:
        self.played = played
        self.env = played.make()
        self.turns: list[Turn] = []
        self.over = self.truncated = False
        self.observation, self.info = self.env.reset(
            seed=played.seed, options={"rollout": played.rollout}
        )

    @property
    def total(self) -> float:
        """The return so far."""
        return total_of(self.turns)

    def play(self, answer: str) -> None:
        """Take an answer, any str.

        Raises:
            ResetNeeded: after the end.
        """
        observation, reward, terminated, truncated, info = self.env.step(answer)
        self.turns.append(Turn(self.observation, answer, reward))
        self.observation, self.info = observation, info
        self.over, self.truncated = terminated or truncated, truncated


def total_of(turns: list[Turn]) -> float:
    """Return the rewards' sum, without the error that fractions add up."""
    return round(sum(turn.reward for turn in turns), 9)
