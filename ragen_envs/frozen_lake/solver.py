"""The exact best policy of a lake under its slip and budget, by dynamic programming.

The player chooses a whole turn's actions before seeing how the first one slipped, so a turn is an
open-loop sequence: with V(t, a) the success rates of all squares with t turns and a actions left,

    V(t, a) = max over k <= K and sequences u of k actions of  P(u) V(t - 1, a - k),

where P(u) is the product of the actions' transition matrices and K the actions of a turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ragen_envs.budget import Budget
from ragen_envs.frozen_lake.rules import ACTIONS, ENDS, GOAL, Lake, Slip

Rates = NDArray[np.float64]
_ACTIONS = len(ACTIONS)
_TIE = 1e-12
"""Rates closer than this count as equal, so that rounding does not choose between plans."""


class Solver:
    """Success rates and best plans of one lake. Use `solver`, which keeps the recent ones."""

    def __init__(self, lake: Lake, slip: Slip, budget: Budget) -> None:
        self._budget = budget
        self._index = {square: i for i, square in enumerate(lake.distances)}
        self._moves = self._transitions(lake, slip)
        goal = np.zeros(len(self._index))
        goal[self._index[lake.map.index(GOAL)]] = 1.0
        self._over = goal
        self._rates: dict[tuple[int, int], Rates] = {}
        self._best: dict[tuple[int, int], list[Rates]] = {}

    def success_rate(self, square: int, turns: int, actions: int) -> float:
        """Return the best policy's chance to reach the goal from a square."""
        return float(self._value(turns, actions)[self._index[square]])

    def plan(self, square: int, turns: int, actions: int) -> list[int]:
        """Return the best actions for this turn, the shortest of equally good plans."""
        best, chosen = -1.0, [0]
        beliefs = np.eye(len(self._index))[self._index[square]][None]
        for k in range(1, min(self._budget.max_actions_per_turn, actions) + 1):
            # Rows follow the sequences in lexicographic order: the row's number spells the plan.
            beliefs = np.einsum("bs,ast->bat", beliefs, self._moves).reshape(_ACTIONS**k, -1)
            rates = beliefs @ self._value(turns - 1, actions - k)
            top = float(rates.max())
            if top > best + _TIE:
                row = int(np.argmax(rates >= top - _TIE))
                best, chosen = top, [row // _ACTIONS ** (k - 1 - i) % _ACTIONS for i in range(k)]
        return chosen

    def _value(self, turns: int, actions: int) -> Rates:
        if turns <= 0 or actions <= 0:
            return self._over
        key = turns, actions
        if key not in self._rates:
            most = min(self._budget.max_actions_per_turn, actions)
            options = [self._best_then(turns - 1, actions - k, k) for k in range(1, most + 1)]
            self._rates[key] = np.max(options, axis=0)
        return self._rates[key]

    def _best_then(self, turns: int, actions: int, k: int) -> Rates:
        """Return the rates of the best k actions that leave so many turns and actions."""
        key = (0, 0) if turns <= 0 or actions <= 0 else (turns, actions)
        best = self._best.get(key)
        if best is None:
            # Kept when it is whole: solvers are shared, and another thread may look meanwhile.
            best = self._best[key] = list(self._best_of_each_length(self._value(*key)))
        return best[k - 1]

    def _best_of_each_length(self, after: Rates) -> Iterator[Rates]:
        """Yield the rates of the best 1, 2, ... actions before a given rate of each state."""
        states = len(self._over)
        rates = after[:, None]
        for _ in range(self._budget.max_actions_per_turn):
            rates = (self._moves.reshape(-1, states) @ rates).reshape(_ACTIONS, states, -1)
            yield rates.max(axis=(0, 2))
            rates = rates.transpose(1, 0, 2).reshape(states, -1)

    def _transitions(self, lake: Lake, slip: Slip) -> Rates:
        moves = np.zeros((_ACTIONS, len(self._index), len(self._index)))
        for square, i in self._index.items():
            for action in range(_ACTIONS):
                if lake.map[square] in ENDS:
                    moves[action, i, i] = 1.0
                    continue
                for roll in range(slip.total):
                    beside = lake.neighbours[square][(action + slip.turn(roll)) % _ACTIONS]
                    moves[action, i, self._index[beside]] += 1 / slip.total
        return moves


@lru_cache(maxsize=256)
def solver(lake: Lake, slip: Slip, budget: Budget) -> Solver:
    """Return the solver of a lake."""
    return Solver(lake, slip, budget)


@lru_cache(maxsize=4096)
def ceiling(lake: Lake, slip: Slip, budget: Budget) -> float:
    """Return the success rate of the best policy, to nine digits."""
    rate = solver(lake, slip, budget).success_rate(lake.start, budget.max_turns, budget.max_actions)
    return round(rate, 9)
