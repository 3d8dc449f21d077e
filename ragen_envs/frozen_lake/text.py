"""How a state of the frozen lake reads, under each vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ragen_envs.budget import Budget
from ragen_envs.frozen_lake.rules import ACTIONS, Lake, Slip
from ragen_envs.places import place_names


@dataclass(frozen=True)
class Vocabulary:
    """One symbol for each thing that a square can show."""

    player: str
    frozen: str
    hole: str
    goal: str
    player_in_hole: str
    player_on_goal: str

    @cached_property
    def symbols(self) -> str:
        """All symbols."""
        return (
            self.player
            + self.frozen
            + self.hole
            + self.goal
            + self.player_in_hole
            + self.player_on_goal
        )


CLASSIC = Vocabulary("P", "_", "O", "G", "X", "√")
"""RAGEN's symbols (arXiv 2504.20073, appendix)."""
NEW = Vocabulary("A", ".", "H", "T", "D", "@")
"""Symbols of the held-out vocabulary."""


def rules(vocabulary: Vocabulary, slip: Slip, budget: Budget) -> str:
    """Return what the player is told once."""
    v = vocabulary
    return (
        "You are walking on a frozen lake: reach the goal and do not fall into a hole.\n"
        f"Symbols: {v.player} you, {v.frozen} ice, {v.hole} hole, {v.goal} goal, "
        f"{v.player_in_hole} you in a hole, {v.player_on_goal} you on the goal.\n"
        f"The ice is slippery: in {slip.total} steps, {slip.intended} on average "
        f"{'goes' if slip.intended == 1 else 'go'} where you want, and {slip.aside} "
        "to each side of that direction. A step over the edge leaves you where you are.\n"
        f"Actions: {', '.join(ACTIONS)}.\n"
        f"You have {budget.max_turns} turns, with up to {budget.max_actions_per_turn} actions "
        f"each and {budget.max_actions} in all."
    )


class Board:
    """Draws the states of one lake."""

    def __init__(self, lake: Lake, vocabulary: Vocabulary) -> None:
        v = vocabulary
        letters: dict[str, str | int | None] = {
            "S": v.frozen,
            "F": v.frozen,
            "H": v.hole,
            "G": v.goal,
        }
        self._empty = lake.map.translate(str.maketrans(letters))
        self._names = place_names(len(lake.map), lake.stride)
        self._player = {v.frozen: v.player, v.hole: v.player_in_hole, v.goal: v.player_on_goal}
        self._goal, self._hole = lake.map.index("G"), v.hole

    def draw(self, player: int) -> str:
        """Return the grid."""
        empty = self._empty
        return empty[:player] + self._player[empty[player]] + empty[player + 1 :]

    def coordinates(self, player: int) -> str:
        """Return a line that names the squares of the player, the goal and the holes."""
        you = self._names[player]
        return f"(row, column) from the top left, counted from 0: you {you}; {self._others}"

    @cached_property
    def _others(self) -> str:
        squares = zip(self._names, self._empty, strict=True)
        holes = " ".join([name for name, symbol in squares if symbol == self._hole])
        return f"goal {self._names[self._goal]}; holes {holes or 'none'}."
