"""Spaces for peers that declare none for text."""

from __future__ import annotations

import string
from typing import Any

from gymnasium.spaces import Space, Text


class AnyText(Text):
    """Every str: peers that declare no spaces promise no less and no more."""

    def __init__(self) -> None:
        super().__init__(20, min_length=0, charset=string.printable)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)


class Words(Space[str]):
    """A few words, for peers whose actions are numbers."""

    def __init__(self, words: tuple[str, ...]) -> None:
        super().__init__()
        self.words = words

    def contains(self, x: Any) -> bool:
        return x in self.words

    def sample(self, mask: None = None, probability: None = None) -> str:
        return self.words[int(self.np_random.integers(len(self.words)))]
