"""From the text of a game on a grid to the arrays that `observation="array"` gives of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragen_bench.agents import Message

LEGEND = re.compile(r"^Symbols: (.*)\.$", re.MULTILINE)
BUDGET = re.compile(r"^You have (\d+) turns?, .* and (\d+) in all\.$", re.MULTILINE)
LEFT = re.compile(r"Remaining: (\d+) turns?, (\d+) actions?\.")


def arrays_of(messages: Sequence[Message], tiles: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the newest state of Sokoban or FrozenLake, in any of their variants.

    Args:
        messages: a conversation; the rules stand in one of them, the newest state in the last.
        tiles: what a square can show, in the order of the planes.

    Returns:
        "board": uint8 of shape (tiles, height, width), 1 where a square shows the tile, else 0;
        "left": uint8 of shape (2,), turns and actions that are left.

    Raises:
        ValueError: if the rules list no symbols, or one of what is no tile, or no square is shown.
    """
    rules = next((m["content"] for m in messages if "Symbols: " in m["content"]), "")
    legend, budget = LEGEND.search(rules), BUDGET.search(rules)
    if legend is None or budget is None:
        raise ValueError("no message tells the symbols of a grid and a budget")
    symbols = dict(entry.split(" ", 1) for entry in legend[1].split(", "))
    newest = messages[-1]["content"]
    told = [budget, *LEFT.finditer(newest)][-1]
    shown = newest[told.end() :] if told is not budget else newest
    planes = {symbol: tiles.index(named(what)) for symbol, what in symbols.items()}
    grid = [line for line in shown.splitlines() if line and set(line) <= set(planes)]
    if not grid:
        raise ValueError("the last message shows no grid")
    numbers = np.array([[planes[symbol] for symbol in line] for line in grid])
    board = numbers == np.arange(len(tiles))[:, None, None]
    return {
        "board": board.astype(np.uint8),
        "left": np.array([int(told[1]), int(told[2])], np.uint8),
    }


def named(what: str) -> str:
    """Return a tile's own name: the rules speak to the player, the tiles of one."""
    return what.replace("you", "player")
