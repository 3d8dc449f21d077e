"""A plain function: looks for the shortest way over the frozen lake, as if it were not slippery.

ragen-bench evaluate python:path_finder:answer --env FrozenLake-v0
"""

from __future__ import annotations

from collections import deque

from ragen_bench.agents import Message
from ragen_envs.core.protocol import format_answer

STEPS = {"Up": (-1, 0), "Right": (0, 1), "Down": (1, 0), "Left": (0, -1)}


def answer(messages: list[Message]) -> str:
    """Return two steps of a shortest way: five turns have ten in all, and the ice decides."""
    way = shortest_way(board_of(messages[-1]["content"]))
    return format_answer(way[:2] or ["Up"], "think", f"{len(way)} steps to go.")


def board_of(observation: str) -> list[str]:
    """Return the rows of the board in an observation."""
    return [line for line in observation.splitlines() if line and set(line) <= set("P_OGX√")]


def shortest_way(board: list[str]) -> list[str]:
    """Return the moves from P to G around the holes; none if there is no way."""
    cells = {(r, c): cell for r, row in enumerate(board) for c, cell in enumerate(row)}
    start = next(place for place, cell in cells.items() if cell == "P")
    ways: dict[tuple[int, int], list[str]] = {start: []}
    queue = deque([start])
    while queue:
        row, column = place = queue.popleft()
        if cells[place] == "G":
            return ways[place]
        for move, (down, right) in STEPS.items():
            near = (row + down, column + right)
            if cells.get(near, "O") != "O" and near not in ways:
                ways[near] = [*ways[place], move]
                queue.append(near)
    return []
