"""The summary at the end of an episode: verdict, score and the oracle's turns."""

from __future__ import annotations

from typing import NamedTuple

from ragen_bench.pages.play.episode import EpisodeChoice, HumanEpisode, Turn, sum_rewards
from ragen_bench.suites import plays
from ragen_envs.core.policies import oracle_answer

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

    Attributes:
        verdict: One to three words.
        score: Score in [0, 1]; None if a third-party environment reports none.
        ceiling: Expected score of the best player, or None.
        total: The return.
        parts: Terms of the reward by name, if the game reports them.
        oracle: The oracle's turns in the same episode; empty without an oracle.
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
    """Return the end of an episode, with the oracle's turns in the same episode.

    Args:
        episode: A finished episode.
    """
    info = episode.info
    parts = {f"{key}, {meaning}": info[key] for key, meaning in _MEANS.items() if key in info}
    return Ending(
        verdict=_verdict(episode),
        score=info["score"],
        ceiling=info["ceiling"],
        total=episode.total,
        parts=parts,
        oracle=_oracle_turns(episode.choice),
    )


def _verdict(episode: HumanEpisode) -> str:
    if episode.info["success"]:
        return "Solved"
    if episode.truncated:
        return "Out of budget"
    if episode.info["success"] is None:
        return "The episode is over"
    return "Solved in part" if episode.info["score"] > 0 else "Lost"


def _oracle_turns(choice: EpisodeChoice) -> list[Turn]:
    if not plays("oracle", choice.env):
        return []
    episode = HumanEpisode(choice)
    while not episode.over:
        episode.play(oracle_answer(episode.env))
    return episode.turns
