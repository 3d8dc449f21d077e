"""What the kit is told of the peers: their instances and the best players."""

from __future__ import annotations

from functools import cache
from typing import Any

import gymnasium
import numpy as np

from tests.ragen_envs.games.sokoban.reference import moved, offsets, solved
from tests.ragen_envs.support import canonical

MOVES = ("up", "down", "left", "right")
_XSB = np.array([[" ", ".", "*", "$", "@"], [" ", ".", "*", "$", "+"]])


def xsb(game: Any) -> str:
    """Return the state of TextArena's or gem's Sokoban as XSB text.

    Both hold a fixed room (0 wall, 1 floor, 2 target) and a state (0 wall, 1 floor, 2 target,
    3 box on target, 4 box, 5 player).
    """
    fixed, state = game.room_fixed, game.room_state
    rows = [
        "".join("#" if s == 0 else _XSB[int(f == 2), s - 1] for f, s in zip(*pair, strict=True))
        for pair in zip(fixed, state, strict=True)
    ]
    return "\n".join(rows) + "\n"


def sokoban_instance(env: gymnasium.Env) -> Any:
    """Return the level, less walls around it: equal for its eight symmetric images."""
    return canonical(xsb(env.unwrapped.game).splitlines(), blank="#")


@cache
def solution(state: str) -> tuple[str, ...] | None:
    """Return the moves of a shortest solution, or None if there is none."""
    steps = dict(zip(MOVES, offsets(state), strict=True))
    came: dict[str, tuple[str, str] | None] = {state: None}
    queue = [state]
    for s in queue:
        if solved(s):
            return _path(came, s)
        for name, step in steps.items():
            after = moved(s, step)
            if after not in came:
                came[after] = s, name
                queue.append(after)
    return None


def _path(came: dict[str, tuple[str, str] | None], state: str) -> tuple[str, ...]:
    names = []
    while before := came[state]:
        state, name = before
        names.append(name)
    return tuple(reversed(names))


def sokoban_move(env: gymnasium.Env) -> str:
    """Return the next move of a shortest solution."""
    return solution(xsb(env.unwrapped.game))[0]


def lake_instance(env: gymnasium.Env) -> Any:
    """Return TextArena's lake, equal for its eight symmetric images."""
    return canonical(lake(env))


def lake(env: gymnasium.Env) -> list[str]:
    """Return the rows of TextArena's lake, with the player's square as "P"."""
    state = env.unwrapped.game.state.game_state
    rows = ["".join(row).replace(" ", "_") for row in state["grid"]]
    y, x = state["player_pos"]
    rows[y] = f"{rows[y][:x]}P{rows[y][x + 1 :]}"
    return rows


def lake_move(env: gymnasium.Env) -> str:
    """Return the first move of a shortest way over TextArena's lake."""
    rows = lake(env)
    (start,) = ((y, x) for y, row in enumerate(rows) for x, c in enumerate(row) if c == "P")
    queue, first = [start], {start: ""}
    for y, x in queue:
        if rows[y][x] == "G":
            return first[y, x]
        for name, (dy, dx) in zip(MOVES, ((-1, 0), (1, 0), (0, -1), (0, 1)), strict=True):
            to = y + dy, x + dx
            inside = 0 <= to[0] < len(rows) and 0 <= to[1] < len(rows[0])
            if inside and to not in first and rows[to[0]][to[1]] != "H":
                first[to] = first[y, x] or name
                queue.append(to)
    raise AssertionError("the goal cannot be reached")


class Planner:
    """The best player of a Gymnasium environment that publishes its transitions as `P`.

    Backward induction over the steps that are left: `values[n][s]` is the expected return.
    """

    def __init__(self, id_: str, horizon: int) -> None:
        transitions = gymnasium.make(id_).unwrapped.P
        self.horizon = horizon
        self.values, self.best = [np.zeros(len(transitions))], [{}]
        for _ in range(horizon):
            after = self.values[-1]
            worth = {
                s: [
                    sum(p * (r + (not end) * after[t]) for p, t, r, end in ways)
                    for ways in actions.values()
                ]
                for s, actions in transitions.items()
            }
            self.values.append(np.array([max(worth[s]) for s in sorted(worth)]))
            self.best.append({s: int(np.argmax(w)) for s, w in worth.items()})

    def ceiling(self, env: gymnasium.Env) -> float:
        """Return the expected return of the episode that was just reset."""
        return float(self.values[self.horizon][env.unwrapped.s])

    def answer(self, env: gymnasium.Env) -> str:
        """Return the best word for the steps that are left."""
        elapsed = env.get_wrapper_attr("_elapsed_steps") if env.spec.max_episode_steps else 0
        return env.action_space.words[self.best[self.horizon - elapsed][env.unwrapped.s]]
