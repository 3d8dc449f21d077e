"""What a player is told when an episode is over."""

from __future__ import annotations

from typing import NamedTuple

from ragen_bench.pages.play.game import Chosen, Game, Turn, total_of
from ragen_envs.policies import oracle_answer

_MEANS = {
    "r_type": "the right kind of product",
    "r_att": "attributes that it has",
    "r_option": "options that were chosen",
    "r_price": "within the price",
    "title_score": "nouns of the title",
}
"""The keys of `info` that the reward is made of."""


class Ending(NamedTuple):
    """How an episode ended.

    Attributes:
        verdict: in a word or three.
        score: in [0, 1].
        ceiling: the score that the oracle expects.
        total: the return.
        parts: what the reward is made of, by name, where the game says so.
        oracle: the oracle's turns in the same episode.
    """

    verdict: str
    score: float
    ceiling: float
    total: float
    parts: dict[str, float]
    oracle: list[Turn]

    @property
    def oracle_total(self) -> float:
        """The oracle's return."""
        return total_of(self.oracle)


def ending_of(game: Game) -> Ending:
    """Return how a game that is over ended; the oracle plays the same episode for it.

    Args:
        game: its environment stays as it is.
    """
    info = game.info
    parts = {f"{key}, {meant}": info[key] for key, meant in _MEANS.items() if key in info}
    return Ending(
        verdict=_verdict(game),
        score=info["score"],
        ceiling=info["ceiling"],
        total=game.total,
        parts=parts,
        oracle=_oracle_turns(game.played),
    )


def _verdict(game: Game) -> str:
    if game.info["success"]:
        return "Solved"
    if game.truncated:
        return "Out of budget"
    return "Solved in part" if game.info["score"] > 0 else "Lost"


def _oracle_turns(played: Chosen) -> list[Turn]:
    game = Game(played)
    while not game.over:
        game.play(oracle_answer(game.env))
    return game.turns
