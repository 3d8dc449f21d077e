"""The exact best policy of a lake under its slip and budget, by dynamic programming.

The player chooses a whole turn's actions before seeing how the first one slipped, so a turn is an
open-loop sequence: with V(t, a) the success rates of all squares with t turns and a actions left,

    V(t, a) = max over k <= K and sequences u of k actions of  P(u) V(t - 1, a - k),

where P(u) is the product of the actions' transition matrices and K the actions of a turn. Sequences
that leave fewer actions than turns need not be tried: split over two turns they lose nothing, and
the player sees the state in between. So k <= max(1, a - t + 1).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ragen_envs.core.budget import Budget
from ragen_envs.core.sums import sum_in_order
from ragen_envs.games.frozen_lake.rules import ACTIONS, FROZEN, GOAL, Lake, Slip, neighbours_of

Rates = NDArray[np.float64]
_ACTIONS = len(ACTIONS)
_TIE = 1e-12
"""Rates closer than this count as equal, so that rounding does not choose between plans."""
_AT_ONCE = 2**14
"""Approximate number of sequences per batch."""
_MANY, _PARTS = 64, 16
"""The maximum of at least `_MANY` rows is taken in `_PARTS` parts first, which is faster."""


class Solver:
    """Success rates and best plans of one lake. Use `solver`, which keeps the recent ones."""

    def __init__(self, lake: Lake, slip: Slip, budget: Budget) -> None:
        self._budget = budget
        self._game = _Game(lake.board, lake.stride - 1, slip)
        self._table: Rates | None = None
        self._plans: dict[tuple[int, int, int], list[int]] = {}

    def success_rate(self, square: int, turns: int, actions: int) -> float:
        state = self._game.states.get(square)
        return 0.0 if state is None else float(self._value(turns, actions)[state])

    def plan(self, square: int, turns: int, actions: int) -> list[int]:
        """Return the best actions for this turn, the shortest of equally good plans."""
        state = square, turns, actions
        if state not in self._plans:
            self._plans[state] = self._find_plan(*state)
        return [*self._plans[state]]

    def _find_plan(self, square: int, turns: int, actions: int) -> list[int]:
        best, chosen = -1.0, [0]
        moves = self._game.moves
        beliefs = np.eye(len(moves[0]))[self._game.states[square]][None]
        for k in range(1, min(self._budget.max_actions_per_turn, actions) + 1):
            # Rows follow the sequences in lexicographic order: the row's number spells the plan.
            beliefs = np.einsum("bs,ast->bat", beliefs, moves).reshape(_ACTIONS**k, -1)
            rates = beliefs @ self._value(turns - 1, actions - k)
            top = float(rates.max())
            if top > best + _TIE:
                row = int(np.argmax(rates >= top - _TIE))
                best, chosen = top, [row // _ACTIONS ** (k - 1 - i) % _ACTIONS for i in range(k)]
        return chosen

    def _value(self, turns: int, actions: int) -> Rates:
        if self._table is None:
            self._table = self._game.table(self._budget, idle=True)
        found: Rates = self._table[min(max(turns, 0), len(self._table) - 1), max(actions, 0)]
        return found


class _Game:
    """A map without its start: its states and transitions.

    Ice and goal squares are states. Holes are not, since the goal cannot be reached from them.
    `moves` are transition probabilities, of shape (actions, states, states).
    """

    def __init__(self, board: str, width: int, slip: Slip) -> None:
        ice = [square for square, letter in enumerate(board) if letter == FROZEN]
        goal = board.index(GOAL)
        self.states = {square: state for state, square in enumerate([*ice, goal])}
        size = len(self.states)
        numbers = np.full(len(board), size)
        numbers[[*ice, goal]] = np.arange(size)
        beside = numbers[_around(board.count("\n") + 1, width)[ice]]
        moves = np.zeros((_ACTIONS, size, size + 1))
        action, state = np.arange(_ACTIONS)[:, None], np.arange(size - 1)
        intended, aside = (
            sum_in_order([1 / slip.total] * odds) for odds in (slip.intended, slip.aside)
        )
        # Quarter turns by which a step may slip, with their probabilities.
        for quarters, odds in ((0, intended), (1, aside), (_ACTIONS - 1, aside)):
            there = np.roll(beside, -quarters, axis=1).T
            moves[action, state, there] += odds
        moves[:, size - 1, size - 1] = 1.0
        self.moves: Rates = moves[:, :, :size]
        self._steps = self.moves.transpose(2, 0, 1).reshape(size, -1)

    def table(self, budget: Budget, idle: bool) -> Rates:
        """Return V(t, a) of all states, of shape (turns + 1, actions + 1, states).

        It has at most as many turns as actions, since further turns have no value. Without `idle`
        turns, which have no action, only entries that can be reached with an action in every turn
        are valid.
        """
        actions = budget.max_actions
        turns = min(budget.max_turns, actions)  # more are worth nothing
        most = budget.max_actions_per_turn
        values = np.zeros((turns + 1, actions + 1, len(self.states)))
        values[..., -1] = 1.0  # the goal
        for t in range(1, turns + 1):
            usable = min(actions, most * t)
            spent = 0 if idle else turns - t
            high = min(actions - spent, usable)
            low = max(t, 0 if idle else min(actions - most * spent, usable))
            values[t, :t] = values[t - 1, :t]
            self._fill(values, most, t, low, high)
            values[t, usable + 1 :] = values[t, usable]
        return values

    def _fill(self, values: Rates, most: int, t: int, low: int, high: int) -> None:
        """Set V(t, a) for a from low to high by V(t - 1)."""
        size, steps = len(self.states), self._steps
        usable, rates = most * (t - 1), values[t]
        first, last = max(t - 1, low - most), min(high - 1, usable)
        group = max(1, _AT_ONCE // _ACTIONS**most)
        for start in range(first, last + 1, group):
            stop = min(start + group, last + 1)
            rows = values[t - 1, start:stop]
            for k in range(1, most + 1):
                # Rows with the most actions left allow the fewest in this turn.
                stop = min(stop, high - k + 1)
                if stop <= start:
                    break
                rows = (rows[: (stop - start) * _ACTIONS ** (k - 1)] @ steps).reshape(-1, size)
                plans = rows
                if len(rows) >= _MANY * (stop - start):
                    plans = rows.reshape(stop - start, _PARTS, -1).max(axis=1)
                best = plans.reshape(stop - start, -1, size).max(axis=1)
                least = max(start, low - k)
                here = rates[least + k : stop + k]
                np.maximum(here, best[least - start :], out=here)
                if stop > usable and stop + k <= high:  # more could not be used
                    here = rates[stop + k : high + 1]
                    np.maximum(here, best[-1], out=here)


@lru_cache(maxsize=8)
def _around(height: int, width: int) -> NDArray[np.int64]:
    return np.array(neighbours_of(height, width))


@lru_cache(maxsize=256)
def solver(lake: Lake, slip: Slip, budget: Budget) -> Solver:
    """Return the solver of a lake."""
    return Solver(lake, slip, budget)


def ceiling(lake: Lake, slip: Slip, budget: Budget) -> float:
    """Return the success rate of the best policy, to nine digits."""
    board, width, start = lake.standing
    return _ceilings(board, width, slip, budget)[start]


@lru_cache(maxsize=4096)
def _ceilings(board: str, width: int, slip: Slip, budget: Budget) -> dict[int, float]:
    """Return the rate from each start square, since many lakes differ only in the start."""
    game = _Game(board, width, slip)
    rates = game.table(budget, idle=False)[-1, -1].tolist()
    return {square: round(rates[state], 9) for square, state in game.states.items()}
