"""An interactive episode, its history, and the summary at its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ragen_bench.environments import AnyEnv
from ragen_bench.errors import UserError
from ragen_bench.suites import env_id, find_choice, make_env, plays
from ragen_envs.core.instances import SPLITS, Split
from ragen_envs.core.policies import oracle_answer
from ragen_envs.core.sums import sum_in_order


@dataclass(frozen=True)
class EpisodeChoice:
    """The settings of an episode: a full environment id, an instance, and the seed of the noise."""

    env: str
    split: Split
    seed: int
    noise_seed: int


def choose_episode(name: str, split: str, seed: int, noise_seed: int) -> EpisodeChoice:
    """Return the settings that a command names; a UserError if an id or number is wrong."""
    if seed < 0 or noise_seed < 0:
        raise UserError("--seed and --noise-seed are at least 0")
    return EpisodeChoice(env_id(name), find_choice("split", split, SPLITS), seed, noise_seed)


class Turn(NamedTuple):
    """One turn of an episode: the observation, the response to it and its reward."""

    observation: str
    answer: str
    reward: float


class HumanEpisode:
    """An episode and its history.

    `truncated` says that the budget ended it, and `skipped` that the player did. The oracle's
    solution is shown at the end if `shows_oracle`.
    """

    shows_oracle = True

    def __init__(self, choice: EpisodeChoice, env: AnyEnv | None = None) -> None:
        self.choice = choice
        self.env = env or make_env(choice.env, choice.split, "plain")
        self.skipped = False
        self.turns: list[Turn] = []
        self.over = self.truncated = False
        self.observation, self.info = self.env.reset(
            seed=choice.seed, options={"noise_seed": choice.noise_seed}
        )

    @property
    def listed_actions(self) -> tuple[str, ...]:
        """The legal actions that the player can have listed."""
        return self.env.legal_actions

    @property
    def total(self) -> float:
        """The return so far."""
        return sum_rewards(self.turns)

    def play(self, answer: str) -> None:
        """Take a response, which may be any text."""
        observation, reward, terminated, truncated, info = self.env.step(answer)
        self.turns.append(Turn(self.observation, answer, reward))
        self.observation, self.info = observation, info
        self.over, self.truncated = terminated or truncated, truncated


def sum_rewards(turns: list[Turn]) -> float:
    """Return the sum of the rewards, rounded to nine digits."""
    return round(sum_in_order(turn.reward for turn in turns), 9)


_MEANS = {
    "r_type": "the right kind of product",
    "r_att": "attributes that it has",
    "r_option": "options that were chosen",
    "r_price": "within the price",
    "title_score": "nouns of the title",
}
"""Keys of `info` that add up to the reward, with their meanings."""


class Ending(NamedTuple):
    """The end of an episode.

    `ceiling` is the expected score of the best player, `total` the return, and `parts` are the
    terms of the reward, if the game reports them. A third-party environment may report no
    score; `oracle` holds the oracle's turns in the same episode, and is empty without an oracle.
    """

    verdict: str
    score: float | None
    ceiling: float | None
    total: float
    parts: dict[str, float]
    oracle: list[Turn]

    @property
    def oracle_total(self) -> float:
        """Return of the oracle."""
        return sum_rewards(self.oracle)


def describe_ending(episode: HumanEpisode) -> Ending:
    """Return the end of a finished episode, with the oracle's turns in the same episode."""
    info = episode.info
    parts = {f"{key}, {meaning}": info[key] for key, meaning in _MEANS.items() if key in info}
    turns: list[Turn] = []
    if episode.shows_oracle and plays("oracle", episode.choice.env):
        oracle = HumanEpisode(episode.choice)
        while not oracle.over:
            oracle.play(oracle_answer(oracle.env))
        turns = oracle.turns
    score = 0.0 if episode.skipped else info["score"]
    return Ending(_verdict(episode), score, info["ceiling"], episode.total, parts, turns)


def _verdict(episode: HumanEpisode) -> str:
    if episode.skipped:
        return "Skipped, which counts as a failure"
    if episode.info["success"]:
        return "Solved"
    if episode.truncated:
        return "Out of budget"
    if episode.info["success"] is None:
        return "The episode is over"
    return "Solved in part" if episode.info["score"] > 0 else "Lost"
