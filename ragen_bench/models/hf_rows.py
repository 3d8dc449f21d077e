"""Answers in rows of keys and values, each of which the next answer takes as soon as it is free."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ragen_bench.models.hf_cache import RowCache, logits_of, step_of
from ragen_bench.models.hf_prefixes import assign, longest, nothing, ready, shared
from ragen_bench.models.hf_sampling import Answer

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
        self._common = shared if reuse else nothing
        self._rows = [_Row() for _ in range(slots)]
        self._cache = RowCache(slots)

    def admit(self, waiting: deque[Answer]) -> None:
        """Give the free rows to waiting answers."""
        free = {number: row.ids for number, row in enumerate(self._rows) if not row.answer}
        first = [waiting.popleft() for _ in range(min(len(free), len(waiting)))]
        held = [row.ids for row in self._rows]
        now = ready([answer.prompt for answer in first], held, self._common, _STEP_TOKENS)
        waiting.extendleft(first[i] for i in reversed(range(len(first))) if i not in now)
        answers = [first[i] for i in now]
        numbers = assign([answer.prompt for answer in answers], free, self._common)
        for answer, number in zip(answers, numbers, strict=True):
            self._begin(answer, number)
        self._close_ranks()

    def read(self) -> tuple[Sequence[Answer], torch.Tensor]:
        """Read what is unread in all occupied rows, in one pass without padding."""
        rows = [row for row in self._rows if row.answer]
        answers = [row.answer for row in rows if row.answer]
        step = step_of(
            self._cache,
            [len(row.ids) for row in rows],
            [answer.unread for answer in answers],
            self._model.device,
        )
        logits = logits_of(self._model, step)
        for row, answer in zip(rows, answers, strict=True):
            row.ids += answer.unread
        return answers, logits

    def release(self, ended: Sequence[Answer]) -> Sequence[Answer]:
        """Free the rows of ended answers; they keep their keys and values."""
        for row in self._rows:
            if row.answer in ended:
                row.answer = None
        return ended

    def _begin(self, answer: Answer, number: int) -> None:
        """Put an answer into a row, with the longest beginning of its prompt that any row holds."""
        held = [row.ids for row in self._rows]
        common, source = longest(answer.prompt, held, self._common, favourite=number)
        # The last token is read in any case: what comes after it is asked.
        count = min(common, len(answer.prompt) - 1)
        if source != number:
            self._cache.copy(source, number, count)
        answer.unread = answer.prompt[count:]
        self._rows[number] = _Row(answer.prompt[:count], answer)

    def _close_ranks(self) -> None:
        """Move occupied rows into free ones before them, so that a step works on the first n."""
        occupied = [number for number, row in enumerate(self._rows) if row.answer]
        for hole in range(len(occupied)):
            if not self._rows[hole].answer:
                last = occupied.pop()
                moved = self._rows[last]
                self._cache.copy(last, hole, len(moved.ids))
                self._rows[hole] = _Row(moved.ids, moved.answer)
                self._rows[last] = _Row(list(moved.ids))


@dataclass
class _Row:
    """A row of the cache: the tokens whose keys and values it holds, and the answer under way."""

    ids: list[int] = field(default_factory=list)
    answer: Answer | None = None
