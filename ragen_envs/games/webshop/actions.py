"""The actions of a page as texts, and their reader."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from ragen_envs.core.protocol import ActionReader, FreeText, Parsed
from ragen_envs.games.webshop.pages import label_of

SEARCH, CLICK, END = "search[", "click[", "]"
LONGEST_SEARCH = 300
"""Most characters of a search; the rest is ignored."""
_ACTION = re.compile(r"(search|click)\s*\[(.*)\]", re.DOTALL | re.IGNORECASE).fullmatch
_WORD = re.compile(r"[a-z0-9][a-z0-9.'-]*[a-z0-9]").findall
_SHORTEST_WORD = 3


def search_of(words: str) -> str:
    """Return the search for words, cut to the longest search.

    Characters outside printable ASCII become blanks, since the next observation shows the action.
    """
    cut = " ".join(words.split())[: 2 * LONGEST_SEARCH]
    printable = "".join(char if " " <= char <= "~" else " " for char in cut)
    return f"{SEARCH}{label_of(printable)[:LONGEST_SEARCH].strip()}{END}"


def click_of(label: str) -> str:
    """Return the action that clicks a label."""
    return f"{CLICK}{label_of(label)}{END}"


@lru_cache(maxsize=256)
def searches_for(instruction: str) -> tuple[str, ...]:
    """Return the searches that the search page lists: the instruction, and each longer word."""
    words = dict.fromkeys(
        word for word in _WORD(instruction.lower()) if len(word) >= _SHORTEST_WORD
    )
    return tuple(dict.fromkeys((search_of(instruction), *map(search_of, words))))


class PageReader(ActionReader):
    """Reads the actions of one page: the listed ones and, with a search box, any search."""

    def __init__(self, listed: Sequence[str], example: str, any_search: bool) -> None:
        super().__init__(listed, example)
        if any_search:
            self.free = FreeText(SEARCH, END, LONGEST_SEARCH)

    def _words(self, body: str) -> list[str]:
        return [_canonical(word) for word in super()._words(body)]

    def _parse(self, body: str) -> Parsed:
        if self.free:
            searches = dict.fromkeys(filter(is_search, self._words(body)))
            new = [word for word in searches if word not in self._index]
            self._index.update({word: len(self.actions) + i for i, word in enumerate(new)})
            self.actions = (*self.actions, *new)
        return super()._parse(body)


def _canonical(word: str) -> str:
    """Return an action in its listed spelling, and any other text unchanged."""
    match = _ACTION(word)
    if match is None:
        return word
    return (search_of if match[1].lower() == "search" else click_of)(match[2])


def is_search(action: str) -> bool:
    """Return whether an action searches for words."""
    return action.startswith(SEARCH) and action.endswith(END) and action != SEARCH + END


def words_of(action: str) -> str:
    """Return the words between the brackets of an action."""
    return action[action.index("[") + 1 : -1]
