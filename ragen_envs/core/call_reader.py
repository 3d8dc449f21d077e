"""Reader of actions that are calls of typed functions, linear in the length of the text."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

from ragen_envs.core.protocol import BROKEN, ActionReader, FreeText, Parsed, store


class CallReader(ActionReader):
    """Reads any well-formed call, and lists some of them and those that the player has made.

    Args:
        listed: Calls in their one spelling.
        example: Placeholder body in the instructions.

    Attributes:
        free: The calls' form; longer texts are not read.
    """

    free: FreeText

    def __init__(self, listed: tuple[str, ...], example: str) -> None:
        super().__init__((), example)
        self.actions = listed
        self._listed = len(listed)
        self._index = {text: place for place, text in enumerate(listed)}

    @abstractmethod
    def find_spelling(self, text: str) -> str | None:
        """Return the call in a text in its one spelling; None if malformed."""

    def of_episode(self) -> Self:
        """Return a reader for one episode; all of them share the cache of listed calls."""
        fresh = type(self).__new__(type(self))
        vars(fresh).update(vars(self))  # copy.copy would drop the cache
        return fresh

    def _words(self, body: str) -> list[str]:
        """Return the calls in their one spelling, and any other text unchanged."""
        words = super()._words(body)
        longest = self.free.longest
        return [(len(word) <= longest and self.find_spelling(word)) or word for word in words]

    def _keep(self, cache: dict[str, Parsed], key: str, body: str | None) -> Parsed:
        parsed = BROKEN if body is None else self._parse(body)
        if all(place < self._listed for place in parsed.actions):
            store(cache, key, parsed)
        return parsed

    def _parse(self, body: str) -> Parsed:
        words, longest = self._words(body), self.free.longest
        new = [
            word
            for word in dict.fromkeys(words)
            if word not in self._index and len(word) <= longest and self.find_spelling(word)
        ]
        if new:
            places = {word: len(self.actions) + i for i, word in enumerate(new)}
            self._index = {**self._index, **places}
            self.actions = (*self.actions, *new)
        known = tuple([self._index[word] for word in words if word in self._index])
        return Parsed(True, known, len(known) == len(words), words == self._example)
