"""Sokoban once more, on strings of characters, by the shortest code that could be right.

A state is the XSB text itself. Nothing here is imported from the package.
"""

from __future__ import annotations

from collections import deque

_LEAVE = {"@": " ", "+": "."}
_ENTER = {" ": "@", ".": "+", "$": "@", "*": "+"}
_PLACE = {" ": "$", ".": "*"}


def offsets(state: str) -> tuple[int, int, int, int]:
    """Return the offsets of Up, Down, Left and Right."""
    stride = state.index("\n") + 1
    return -stride, stride, -1, 1


def moved(state: str, step: int) -> str:
    """Return the state after the player tried a step."""
    at = state.find("@")
    if at < 0:
        at = state.index("+")
    ahead = state[at + step]
    if ahead == "#":
        return state
    squares = list(state)
    if ahead in "$*":
        beyond = state[at + 2 * step]
        if beyond not in _PLACE:
            return state
        squares[at + 2 * step] = _PLACE[beyond]
    squares[at] = _LEAVE[state[at]]
    squares[at + step] = _ENTER[ahead]
    return "".join(squares)


def solved(state: str) -> bool:
    """Return whether no box stands beside the targets."""
    return "$" not in state


def shortest(state: str, limit: int = 10**9) -> int | None:
    """Return the moves of a shortest solution, or None if it takes more than the limit."""
    steps = offsets(state)
    seen, layer = {state}, [state]
    for length in range(limit + 1):
        if any(solved(s) for s in layer):
            return length
        following = []
        for s in layer:
            for step in steps:
                after = moved(s, step)
                if after not in seen:
                    seen.add(after)
                    following.append(after)
        if not following:
            return None
        layer = following
    return None


def fewest_pushes(state: str, limit: int) -> int | None:
    """Return the pushes of a solution with fewest, or None if it takes more than the limit."""
    steps = offsets(state)
    queue, pushes = deque([state]), {state: 0}
    while queue:
        s = queue.popleft()
        if solved(s):
            return pushes[s]
        for step in steps:
            after = moved(s, step)
            boxes = [i for i, c in enumerate(s) if c in "$*"]
            cost = pushes[s] + (boxes != [i for i, c in enumerate(after) if c in "$*"])
            if cost <= limit and cost < pushes.get(after, limit + 1):
                pushes[after] = cost
                (queue.append if cost > pushes[s] else queue.appendleft)(after)
    return None


def one_push_solves(state: str) -> bool:
    """Return whether a walk and a single push solve the level."""
    steps = offsets(state)
    seen, todo = {state}, [state]
    while todo:
        s = todo.pop()
        walls_and_boxes = [c in "$*" for c in s]
        for step in steps:
            after = moved(s, step)
            if [c in "$*" for c in after] != walls_and_boxes:
                if solved(after):
                    return True
            elif after not in seen:
                seen.add(after)
                todo.append(after)
    return False
