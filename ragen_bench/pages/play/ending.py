"""Endings: the verdict, score and oracle play that a player sees when an episode is over."""

from __future__ import annotations

from typing import NamedTuple

from ragen_bench.pages.play.episode import EpisodeChoice, HumanEpisode, Turn, total_of
from ragen_bench.suites import plays
from ragen_envs.core.policies import oracle_answer

_MEANS = {
    "r_type": "the right kind of product",
    "r_att": "attributes that it has",
    "r_option": "options that were chosen",
    "r_price": "within the price",
    "title_score": "nouns of the title",
}
"""The keys of `info` that add up to the reward, with what each stands for."""


class Ending(NamedTuple):
    """How an episode ended.

    Attributes:
        verdict: one to three words.
        score: in [0, 1]; None where another package's environment does not tell it.
        ceiling: the score that the oracle expects, or None.
        total: the return.
        parts: the terms of the reward by name, where the game gives them.
        oracle: the oracle's turns in the same episode; none where there is no oracle.
    """

    verdict: str
    score: float | None
    ceiling: float | None
    total: float
    parts: dict[str, float]
    oracle: list[Turn]

    @property
    def oracle_total(self) -> float:
        """The oracle's return."""
        return total_of(self.oracle)


def ending_of(episode: HumanEpisode) -> Ending:
    """Return how an episode ended; the oracle plays the same episode for comparison.

    Args:
        episode: an episode that is over; it stays as it is.
    """
    info = episode.info
    parts = {f"{key}, {meant}": info[key] for key, meant in _MEANS.items() if key in info}
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
