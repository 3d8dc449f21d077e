"""The tokens that rows of keys and values hold, and the rows that new prompts take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ids = Sequence[int]
_COLUMN_STEP = 256
"""Rows grow by this many tokens at once, since growing copies them."""
_NO_TOKEN = -1
_MIN_SAVING = 32
"""A prompt waits one step for another one if that saves reading this many tokens."""


class RowTokens:
    """The tokens whose keys and values each row holds; without `reuse`, no prefix is reported."""

    def __init__(self, rows: int, reuse: bool = True) -> None:
        self.lengths = [0] * rows
        self._ids = np.full((rows, _COLUMN_STEP), _NO_TOKEN, np.int32)
        self._changes = np.zeros(rows, np.intp)
        self._counts: dict[tuple[int, ...], tuple[NDArray[np.intp], NDArray[np.intp]]] = {}
        self.reuse = reuse

    def grow(self, rows: int) -> None:
        """Grow to at least `rows` rows."""
        if (added := rows - len(self.lengths)) > 0:
            self._ids = np.pad(self._ids, ((0, added), (0, 0)), constant_values=_NO_TOKEN)
            self.lengths += [0] * added
            self._changes = np.pad(self._changes, (0, added))
            self.forget_prompts()

    def replace_row(self, row: int, ids: Ids) -> None:
        """Replace the tokens of a row."""
        self._ids[row] = _NO_TOKEN
        self.lengths[row] = 0
        self.append(row, ids)

    def append(self, row: int, ids: Ids) -> None:
        """Append tokens to a row."""
        start = self.lengths[row]
        end = self.lengths[row] = start + len(ids)
        self._reserve(end)
        self._ids[row, start:end] = ids
        self._changes[row] += 1

    def copy(self, source: int, target: int) -> None:
        """Copy a row to another one."""
        self._ids[target] = self._ids[source]
        self.lengths[target] = self.lengths[source]
        self._changes[target] += 1

    def exchange(self, first: int, second: int) -> None:
        """Exchange two rows."""
        self._ids[[first, second]] = self._ids[[second, first]]
        lengths = self.lengths
        lengths[first], lengths[second] = lengths[second], lengths[first]
        self._changes[[first, second]] += 1

    def forget_prompts(self) -> None:
        """Free the memory of earlier calls of `count_common`."""
        self._counts = {}

    def count_common(self, prompt: Ids) -> NDArray[np.intp]:
        """Return the length of the prefix that each row shares with a nonempty prompt, [rows].

        A prompt that was given before is compared only with the rows that have changed since.
        """
        if not self.reuse:
            return np.zeros(len(self.lengths), np.intp)
        key = tuple(prompt)
        if key not in self._counts:
            self._counts[key] = np.zeros_like(self._changes), np.full_like(self._changes, -1)
        counts, compared = self._counts[key]
        rows = np.flatnonzero(compared != self._changes)
        if len(rows):
            self._reserve(len(prompt))
            differs = self._ids[rows, : len(prompt)] != np.array(prompt, np.int32)
            counts[rows] = np.where(differs.any(1), differs.argmax(1), len(prompt))
            compared[:] = self._changes
        return counts

    def find_longest(self, prompt: Ids, preferred: int) -> tuple[int, int]:
        """Return the longest prefix of a nonempty prompt in any row: its length, and the row.

        Among equals it is the preferred row, or else the first one.
        """
        counts = self.count_common(prompt)
        best = preferred if counts[preferred] == counts.max() else int(counts.argmax())
        return int(counts[best]), best

    def _reserve(self, columns: int) -> None:
        if (lacking := columns - self._ids.shape[1]) > 0:
            width = -(-lacking // _COLUMN_STEP) * _COLUMN_STEP
            self._ids = np.pad(self._ids, ((0, 0), (0, width)), constant_values=_NO_TOKEN)


def select_ready(prompts: Sequence[Ids], tokens: RowTokens, budget: int) -> list[int]:
    """Return the indices of the prompts to read in this step, at least one.

    A prompt waits if it shares a prefix with one that is read now, whose keys and values it can
    reuse in the next step. It also waits if the step has no room, whose budget is in tokens.
    """
    ready: list[int] = []
    coming = RowTokens(len(prompts), tokens.reuse)
    for number, prompt in enumerate(prompts):
        known = tokens.count_common(prompt).max(initial=0)
        budget -= len(prompt) - known
        if ready and budget < 0:
            break
        if coming.count_common(prompt).max() < known + _MIN_SAVING:
            coming.replace_row(len(ready), prompt)
            ready.append(number)
    return ready


def assign_rows(prompts: Sequence[Ids], free: list[int], tokens: RowTokens) -> list[int]:
    """Return a free row for each prompt: the longest common prefixes first, then by order."""
    if not prompts:
        return []
    counts = np.stack([tokens.count_common(prompt)[free] for prompt in prompts])
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
