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
    def sample_layout(self, stream: RandomStream) -> int:
        """Sample a layout from those that the opening allows, all equally likely."""

    @abstractmethod
    def after(self, knowledge: K, board: str, opened: int) -> K:
        """Return the knowledge after more squares are opened.

        Args:
            knowledge: The knowledge before.
            board: Symbols of the squares now, as `rules.shown` returns them.
            opened: Squares that are open now.
        """

    @abstractmethod
    def count(self, knowledge: K) -> int:
        """Return the number of possible layouts."""

    @abstractmethod
    def count_mined(self, knowledge: K) -> dict[int, int]:
        """Return for each closed square, in order, the number of layouts with a mine on it."""

    @abstractmethod
    def best_square(self, knowledge: K) -> int:
        """Return the closed square that the player opens."""

    @abstractmethod
    def is_best(self, knowledge: K, square: int) -> bool:
        """Return whether the player rates no closed square higher."""
