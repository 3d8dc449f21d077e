"""Answers in rows of keys and values, each of which the next answer takes as soon as it is free."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import torch

from ragen_bench.models.hf.cache import RowCache, logits_of, step_of
from ragen_bench.models.hf.prefixes import Held, assign, ready
from ragen_bench.models.hf.sampling import Answer

_STEP_TOKENS = 4096
"""No further prompt joins a step that reads so many tokens, for the sake of memory."""


class Rows:
    """Decodes answers side by side; none waits for the end of another one.

    A freed row is taken in the next step: the new prompt is read in the same pass that decodes
    the others. What a prompt has in common with the tokens that its row or another one holds, a
    conversation's earlier turns above all, is not read again.

    Args:
        model: one that `enable_rows` took.
        slots: how many rows there are.
        reuse: whether common beginnings are read once only.
    """

    def __init__(self, model: Any, slots: int, reuse: bool) -> None:
        self._model = model
        self._answers: list[Answer | None] = [None] * slots
        self._held = Held(slots, reuse)
        self._cache = RowCache(slots)

    def grow(self, slots: int) -> None:
        """Have so many rows at least; what is held stays."""
        self._answers += [None] * (slots - len(self._answers))
        self._held.grow(slots)
        self._cache.grow(slots)

    def admit(self, waiting: deque[Answer]) -> None:
        """Give the free rows to waiting answers."""
        free = [row for row, answer in enumerate(self._answers) if not answer]
        if waiting and free:
            first = [waiting.popleft() for _ in range(min(len(free), len(waiting)))]
            now = ready([answer.prompt for answer in first], self._held, _STEP_TOKENS)
            kept = set(now)
            waiting.extendleft(first[i] for i in reversed(range(len(first))) if i not in kept)
            answers = [first[i] for i in now]
            rows = assign([answer.prompt for answer in answers], free, self._held)
            for answer, row in zip(answers, rows, strict=True):
                self._begin(answer, row)
        self._close_ranks()

    def read(self) -> tuple[Sequence[Answer], torch.Tensor]:
        """Read what is unread in all occupied rows, in one pass without padding."""
        answers = [answer for answer in self._answers if answer]
        step = step_of(
            self._cache,
            self._held.lengths[: len(answers)],
            [answer.unread for answer in answers],
            self._model.device,
        )
        logits = logits_of(self._model, step)
        for row, answer in enumerate(answers):
            self._held.append(row, answer.unread)
        return answers, logits

    def release(self, ended: Sequence[Answer]) -> Sequence[Answer]:
        """Free the rows of ended answers; they keep their keys and values."""
        over = set(ended)
        self._answers = [None if answer in over else answer for answer in self._answers]
        return ended

    def _begin(self, answer: Answer, row: int) -> None:
        """Put an answer into a row, with the longest beginning of its prompt that any row holds."""
        common, source = self._held.longest(answer.prompt, favourite=row)
        # The last token is read in any case: what comes after it is asked.
        count = min(common, len(answer.prompt) - 1)
        if source != row:
            self._cache.copy(source, row, count)
        answer.unread = answer.prompt[count:]
        self._held.put(row, answer.prompt[:count])
        self._answers[row] = answer

    def _close_ranks(self) -> None:
        """Move occupied rows into free ones before them, so that a step works on the first n."""
        occupied = [row for row, answer in enumerate(self._answers) if answer]
        for hole in range(len(occupied)):
            if not self._answers[hole]:
                last = occupied.pop()
                self._cache.copy(last, hole, self._held.lengths[last])
                self._held.copy(last, hole)
                self._answers[hole], self._answers[last] = self._answers[last], None
