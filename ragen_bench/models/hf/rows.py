"""Continuous batching: generations in rows of keys and values, refilled as soon as one is free."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import torch

from ragen_bench.models.hf.cache import RowCache, compute_logits, make_step
from ragen_bench.models.hf.prefixes import RowTokens, assign_rows, select_ready
from ragen_bench.models.hf.sampling import Generation

_STEP_TOKENS = 4096
"""Maximum tokens of a step that another prompt may join, to limit memory."""


class RowBatch:
    """Decodes generations in rows; none waits for the end of another one.

    A free row is taken in the next step: its prompt is read in the same pass that decodes the
    others. A prefix that any row holds, such as a conversation's earlier turns, is not read again.
    The model is one for which `enable_rows` succeeded.
    """

    def __init__(self, model: Any, slots: int, reuse: bool) -> None:
        self._model = model
        self._rows: list[Generation | None] = [None] * slots
        self._tokens = RowTokens(slots, reuse)
        self._cache = RowCache(slots)

    def grow(self, slots: int) -> None:
        """Grow to at least `slots` rows, keeping their contents."""
        self._rows += [None] * (slots - len(self._rows))
        self._tokens.grow(slots)
        self._cache.grow(slots)

    def admit(self, waiting: deque[Generation]) -> None:
        """Give the free rows to waiting generations."""
        free = [row for row, generation in enumerate(self._rows) if not generation]
        if waiting and free:
            first = [waiting.popleft() for _ in range(min(len(free), len(waiting)))]
            ready = select_ready([one.prompt for one in first], self._tokens, _STEP_TOKENS)
            later = sorted(set(range(len(first))) - set(ready), reverse=True)
            waiting.extendleft(first[i] for i in later)
            prompts = [first[i].prompt for i in ready]
            for i, row in zip(ready, assign_rows(prompts, free, self._tokens), strict=True):
                self._begin(first[i], row)
        self._move_to_front()

    def read(self) -> tuple[Sequence[Generation], torch.Tensor]:
        """Read the unread tokens of all occupied rows, in one pass without padding."""
        active = [generation for generation in self._rows if generation]
        step = make_step(
            self._cache,
            self._tokens.lengths[: len(active)],
            [generation.unread for generation in active],
            self._model.device,
        )
        logits = compute_logits(self._model, step)
        for row, generation in enumerate(active):
            self._tokens.append(row, generation.unread)
        return active, logits

    def release(self, ended: Sequence[Generation]) -> Sequence[Generation]:
        """Free the rows of ended generations; the rows keep their keys and values."""
        ended_set = set(ended)
        self._rows = [None if one in ended_set else one for one in self._rows]
        return ended

    def _begin(self, generation: Generation, row: int) -> None:
        """Put a generation into a row, with the longest prefix of its prompt that any row holds."""
        common, source = self._tokens.find_longest(generation.prompt, preferred=row)
        # The last token is always read, as the logits after it are needed.
        count = min(common, len(generation.prompt) - 1)
        if source != row:
            self._cache.copy(source, row, count)
        generation.unread = generation.prompt[count:]
        self._tokens.put(row, generation.prompt[:count])
        self._rows[row] = generation

    def _move_to_front(self) -> None:
        """Move occupied rows into free ones before them, so that a step covers the first n."""
        occupied = [row for row, generation in enumerate(self._rows) if generation]
        for hole in range(len(occupied)):
            if not self._rows[hole]:
                last = occupied.pop()
                self._cache.copy(last, hole, self._tokens.lengths[last])
                self._tokens.copy(last, hole)
                self._rows[hole], self._rows[last] = self._rows[last], None
