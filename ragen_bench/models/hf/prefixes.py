"""Common beginnings of prompts, and the row of keys and values that each prompt continues."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ids = Sequence[int]
_ROUND = 256
"""Rows are lengthened by so many tokens at once, as that copies them."""
_NONE = -1
"""Stands after a row's last token."""
_WORTH_A_STEP = 32
"""A prompt waits a step for another one if that saves reading so many tokens."""


class Held:
    """The tokens of rows, and what prompts have in common with them from their beginning on.

    Args:
        rows: how many, which hold nothing yet.
        reuse: whether what was read counts as known; else nothing is in common.

    Attributes:
        lengths: how many tokens each row holds.
    """

    def __init__(self, rows: int, reuse: bool = True) -> None:
        self.lengths = [0] * rows
        self._ids = np.full((rows, _ROUND), _NONE)
        self.reuse = reuse

    def grow(self, rows: int) -> None:
        """Have so many rows at least."""
        if (more := rows - len(self.lengths)) > 0:
            self._ids = np.pad(self._ids, ((0, more), (0, 0)), constant_values=_NONE)
            self.lengths += [0] * more

    def put(self, row: int, ids: Ids) -> None:
        """Let a row hold these tokens alone."""
        self._ids[row] = _NONE
        self.lengths[row] = 0
        self.append(row, ids)

    def append(self, row: int, ids: Ids) -> None:
        """Let a row hold further tokens."""
        start = self.lengths[row]
        end = self.lengths[row] = start + len(ids)
        self._reserve(end)
        self._ids[row, start:end] = ids

    def copy(self, source: int, target: int) -> None:
        """Let a row hold what another one does."""
        self._ids[target] = self._ids[source]
        self.lengths[target] = self.lengths[source]

    def common(self, prompt: Ids) -> NDArray[np.intp]:
        """Return how many tokens each row has in common with a prompt's beginning, [rows].

        Args:
            prompt: at least one token.
        """
        if not self.reuse:
            return np.zeros(len(self.lengths), np.intp)
        self._reserve(len(prompt))
        other = self._ids[:, : len(prompt)] != np.array(prompt)
        return np.where(other.any(1), other.argmax(1), len(prompt))

    def longest(self, prompt: Ids, favourite: int) -> tuple[int, int]:
        """Return how many tokens of a prompt are held at most, and by which row.

        Args:
            prompt: at least one token.
            favourite: the row that counts where several hold as many; after it the first one does.
        """
        counts = self.common(prompt)
        best = favourite if counts[favourite] == counts.max() else int(counts.argmax())
        return int(counts[best]), best

    def _reserve(self, columns: int) -> None:
        if (lacking := columns - self._ids.shape[1]) > 0:
            width = -(-lacking // _ROUND) * _ROUND
            self._ids = np.pad(self._ids, ((0, 0), (0, width)), constant_values=_NONE)


def ready(prompts: Sequence[Ids], held: Held, budget: int) -> list[int]:
    """Return the numbers of the prompts to be read now; at least one.

    A prompt waits if it begins like one that is read now, whose keys and values it can have in the
    next step, and if the step has enough to read without it.

    Args:
        prompts: what waits, in order.
        held: what the rows hold.
        budget: tokens to read in one step.
    """
    now: list[int] = []
    coming = Held(len(prompts), held.reuse)
    for number, prompt in enumerate(prompts):
        there = held.common(prompt).max(initial=0)
        budget -= len(prompt) - there
        if now and budget < 0:
            break
        if coming.common(prompt).max() < there + _WORTH_A_STEP:
            coming.put(len(now), prompt)
            now.append(number)
    return now


def assign(prompts: Sequence[Ids], free: list[int], held: Held) -> list[int]:
    """Return a row for each prompt: the longest common beginnings first, then by order.

    Args:
        prompts: no more than there are free rows.
        free: the rows that can be had, in their order.
        held: what the rows hold.
    """
    if not prompts:
        return []
    counts = np.stack([held.common(prompt)[free] for prompt in prompts])
    places: dict[int, int] = {}
    taken: set[int] = set()
    for pair in np.argsort(-counts, axis=None, kind="stable").tolist():
        number, place = divmod(pair, len(free))
        if number not in places and place not in taken:
            places[number] = place
            taken.add(place)
            if len(places) == len(prompts):
                break
    return [free[places[number]] for number in range(len(prompts))]
