"""The interface of the players: the risks and the best square, given the knowledge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from ragen_envs.core.instances import RandomStream

K = TypeVar("K")
"""The knowledge of a player; equal knowledge compares equal."""


class Player(ABC, Generic[K]):
    """A player on one opening.

    Attributes:
        start: The knowledge at the start.
    """

    start: K

    @abstractmethod
    def drawn(self, stream: RandomStream) -> int:
        """Return one of the sets of mines that the opening allows, all equally likely."""

    @abstractmethod
    def after(self, knowledge: K, board: str, opened: int) -> K:
        """Return the knowledge after more squares are opened.

        Args:
            knowledge: The knowledge before.
            board: Symbols of the squares now, as `rules.shown` returns them.
            opened: the squares that are open now.
        """

    @abstractmethod
    def count(self, knowledge: K) -> int:
        """Return how many layouts of mines are possible."""

    @abstractmethod
    def mined(self, knowledge: K) -> dict[int, int]:
        """Return for each closed square, in order, in how many of the layouts it has a mine."""

    @abstractmethod
    def best_square(self, knowledge: K) -> int:
        """Return the closed square that the player opens."""

    @abstractmethod
    def is_best(self, knowledge: K, square: int) -> bool:
        """Return whether no closed square is better, as far as the player can tell."""
