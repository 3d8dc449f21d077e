"""The texts of FrozenLake: its rules and maps, in each vocabulary, and its tiles."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property, lru_cache

from ragen_envs.core.boards import (
    FIGURE,
    PLAYER_INK,
    POSITIONS,
    Tile,
    coordinates_of,
    draw_marks,
)
from ragen_envs.core.budget import Budget
from ragen_envs.games.frozen_lake.rules import ACTIONS, FROZEN, GOAL, HOLE, START, Lake, Slip


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
        return "".join(getattr(self, field.name) for field in fields(self))

    @property
    def legend(self) -> str:
        return (
            f"Symbols: {self.player} you, {self.frozen} ice, {self.hole} hole, {self.goal} goal, "
            f"{self.player_in_hole} you in a hole, {self.player_on_goal} you on the goal."
        )

    @cached_property
    def table(self) -> dict[int, str]:
        shown = self.frozen, self.frozen, self.hole, self.goal
        return str.maketrans(dict(zip((START, FROZEN, HOLE, GOAL), shown, strict=True)))

    @cached_property
    def with_player(self) -> dict[str, str]:
        on_it = self.player, self.player_in_hole, self.player_on_goal
        return dict(zip((self.frozen, self.hole, self.goal), on_it, strict=True))


CLASSIC = Vocabulary("P", "_", "O", "G", "X", "√")
"""RAGEN's symbols (arXiv 2504.20073, appendix)."""
NEW = Vocabulary("A", ".", "H", "T", "D", "@")
"""Symbols of the held-out vocabulary."""


def rules(legend: str, slip: Slip, budget: Budget) -> str:
    """Return the rules with a line that says what the squares show."""
    return (
        "You are walking on a frozen lake: reach the goal and do not fall into a hole.\n"
        f"{legend}\n"
        f"The ice is slippery: in {slip.total} steps, {slip.intended} on average "
        f"{'goes' if slip.intended == 1 else 'go'} where you want, and {slip.aside} "
        "to each side of that direction. A step over the edge leaves you where you are.\n"
        f"Actions: {', '.join(ACTIONS)}.\n"
        f"{budget.sentence}"
    )


class LakeRenderer:
    """Draws the states of one lake."""

    def __init__(self, lake: Lake, vocabulary: Vocabulary) -> None:
        self._lake = lake
        self._empty = lake.map.translate(vocabulary.table)
        self._player = vocabulary.with_player

    def draw(self, player: int) -> str:
        empty = self._empty
        return f"{empty[:player]}{self._player[empty[player]]}{empty[player + 1 :]}"

    def coordinates(self, player: int) -> str:
        lake = self._lake
        you = coordinates_of(len(lake.map), lake.stride)[player]
        others = _places(lake.map, lake.stride)
        return f"{POSITIONS}: you {you}; {others}"


@lru_cache(maxsize=4096)
def _places(lake: str, stride: int) -> str:
    """Return the end of the line, which names what never moves."""
    names = coordinates_of(len(lake), stride)
    holes = " ".join([names[square] for square, letter in enumerate(lake) if letter == HOLE])
    return f"goal {names[lake.index(GOAL)]}; holes {holes or 'none'}."


_ICE, _WATER, _GOLD = (206, 228, 240), (24, 52, 84), (250, 214, 110)
_HOLE, _FLAG, _SUNK = draw_marks("""
    ........ ..##.... ........
    ..####.. ..#####. ........
    .######. ..###### .#....#.
    .######. ..#####. .#.##.#.
    .######. ..##.... ..####..
    .######. ..##.... ...##...
    ..####.. ..##.... ##.##.##
    ........ .####... ........
""")
TILES = (
    Tile("ice", _ICE, look="empty and pale blue"),
    Tile("hole", _ICE, _HOLE, _WATER, "a dark disc"),
    Tile("goal", _GOLD, _FLAG, (180, 40, 40), "a red flag on gold"),
    Tile("player", _ICE, FIGURE, PLAYER_INK, "a blue figure, which is you"),
    Tile("player in a hole", _WATER, _SUNK, (150, 190, 230), "a pale figure on dark blue"),
    Tile("player on the goal", _GOLD, FIGURE, PLAYER_INK, "the figure on gold"),
)
_PLAYER = 3
"""The tiles from here on show the player, on what the ones from 0 on show."""
_NUMBERS = bytes.maketrans((START + FROZEN + HOLE + GOAL).encode(), bytes((0, 0, 1, 2)))


def tile_numbers(lake: Lake, player: int) -> bytes:
    """Return the number in `TILES` of each square, row by row."""
    squares = bytearray(lake.map.encode().translate(_NUMBERS))
    squares[player] += _PLAYER
    return bytes(squares).replace(b"\n", b"")
