"""The actions of a page as texts, their reader, and the oracle's action."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from ragen_envs.core.protocol import ActionReader, FreeText, Parsed
from ragen_envs.games.webshop.pages import (
    BACK,
    BUY,
    NEXT,
    PER_PAGE,
    PREVIOUS,
    Page,
    label_of,
    option_labels,
)
from ragen_envs.games.webshop.products import Catalogue, Goal

SEARCH, CLICK, END = "search[", "click[", "]"
LONGEST_SEARCH = 300
"""Most characters of a search; the rest is ignored."""
_ACTION = re.compile(r"(search|click)\s*\[(.*)\]", re.DOTALL | re.IGNORECASE).fullmatch
_WORD = re.compile(r"[a-z0-9][a-z0-9.'-]*[a-z0-9]").findall
_SHORTEST_WORD = 3


def search_of(words: str) -> str:
    """Return the search for words, cut to the longest; blanks replace non-ASCII characters."""
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
        """Return the actions in their listed spelling, and any other text unchanged."""
        return [
            (search_of if match[1].lower() == "search" else click_of)(match[2])
            if (match := _ACTION(word))
            else word
            for word in super()._words(body)
        ]

    def _parse(self, body: str) -> Parsed:
        if self.free:
            new = [
                word
                for word in dict.fromkeys(self._words(body))
                if word.startswith(SEARCH)
                and word.endswith(END)
                and word != SEARCH + END
                and word not in self._index
            ]
            self._index.update({word: len(self.actions) + i for i, word in enumerate(new)})
            self.actions = (*self.actions, *new)
        return super()._parse(body)


def words_of(action: str) -> str:
    """Return the words between the brackets of an action."""
    return action[action.index("[") + 1 : -1]


def best_action(catalogue: Catalogue, goal: Goal, page: Page, turns_left: int) -> str:
    """Return the next action on a shortest path to the purchase; in the last turn, buy.

    It searches for the target's title. The tests check that the target is then on the first page of
    the results, for each held-out task.
    """
    if page.kind == "done":
        raise ValueError("the purchase is already made")
    target = catalogue.products[goal.product]
    if page.kind == "search":
        return search_of(target.title)
    if page.kind == "item" and turns_left == 1:
        return click_of(BUY)
    if page.kind == "item" and page.product == goal.product:
        labels = {choice: label for label, choice in option_labels(target).items()}
        missing = (labels[choice] for choice in goal.options if choice not in page.chosen)
        return click_of(next(missing, BUY))
    if goal.product not in page.hits:
        return click_of(BACK)
    number = 1 + page.hits.index(goal.product) // PER_PAGE
    if page.kind == "results" and number == page.number:
        return click_of(target.asin)
    # "< prev" leads to the results, from another product and from its sub-pages.
    return click_of(NEXT if page.kind == "results" and number > page.number else PREVIOUS)
