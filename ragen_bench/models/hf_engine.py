"""Many conversations at once, each in a slot that the next one takes as soon as it is free."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from ragen_bench.models.base import Completion, Fault, Request, Sampling
from ragen_bench.models.hf_cache import RowCache, logits_of, step_of
from ragen_bench.models.hf_loading import Loaded
from ragen_bench.models.hf_memory import enough_memory
from ragen_bench.models.hf_prefixes import assign, nothing, ready, shared
from ragen_bench.models.hf_sampling import Ending, choose, stream_of
from ragen_envs.instances import Stream

_STEP_TOKENS = 4096
"""No further prompt joins a step that reads so many tokens, for the sake of memory."""
Answer = tuple[Request, Completion | Fault]


class SlotEngine:
    """Decodes all occupied slots by one token at a time; no slot waits for another one's answer.

    A freed slot is taken in the next step: the new prompt is read in the same pass that decodes
    the others. What a prompt has in common with the tokens that its row or another one holds, a
    conversation's earlier turns above all, is not read again.

    It is deterministic: the same calls in the same order give the same answers on one machine. An
    answer depends on what else is in flight by the rounding of matrix products only.

    Args:
        loaded: a model that `enable_rows` took.
        sampling: how.
        slots: how many requests are worked on at once.
        reuse: whether common beginnings are read once only.
    """

    def __init__(self, loaded: Loaded, sampling: Sampling, slots: int, reuse: bool = True) -> None:
        self._loaded, self._sampling = loaded, sampling
        self._common = shared if reuse else nothing
        self._ending = Ending(loaded.tokenizer, loaded.ends, sampling)
        self._waiting: deque[_Job] = deque()
        self._refused: list[Answer] = []
        self._rows = [_Row() for _ in range(slots)]
        self._cache = RowCache(slots)

    def submit(self, request: Request) -> None:
        """Take a request; it is worked on when answers are collected."""
        ids = self._loaded.chat.read(request.messages)
        if self._loaded.has_room(ids, self._sampling.max_tokens):
            self._waiting.append(_Job(request, ids, stream_of(request, self._sampling)))
        else:
            self._refused.append((request, Completion("", len(ids), 0, finish="context")))

    def collect(self) -> Sequence[Answer]:
        """Decode until at least one answer is finished.

        Raises:
            UserError: if the device has too little memory.
        """
        ended, self._refused = self._refused, []
        with enough_memory(self._loaded.model.device, len(self._rows)):
            while not ended:
                ended = self._step()
        return ended

    def close(self) -> None:
        """Drop what is unanswered, and all keys and values."""
        self._waiting.clear()
        self._refused = []
        self._rows = [_Row() for _ in self._rows]
        self._cache = RowCache(len(self._rows))

    @torch.inference_mode()
    def _step(self) -> list[Answer]:
        """Add one token to every answer, and return those that it ended."""
        self._admit()
        self._close_ranks()
        rows = [row for row in self._rows if row.job]
        jobs = [row.job for row in rows if row.job]
        step = step_of(
            self._cache,
            [len(row.ids) for row in rows],
            [job.unread for job in jobs],
            self._loaded.model.device,
        )
        logits = logits_of(self._loaded.model, step)
        chosen = choose(logits, [job.stream for job in jobs], self._sampling.temperature)
        # The only wait for the device in a step.
        return [
            ended
            for row, token in zip(rows, chosen.tolist(), strict=True)
            if (ended := self._advance(row, token))
        ]

    def _advance(self, row: _Row, token: int) -> Answer | None:
        job = row.job
        assert job is not None
        row.ids += job.unread
        job.sampled.append(token)
        job.unread = [token]
        if not self._ending.over(job.sampled):
            return None
        row.job = None
        return job.request, self._ending.completion(len(job.prompt), job.sampled)

    def _admit(self) -> None:
        """Give the free rows to what waits."""
        free = {number: row.ids for number, row in enumerate(self._rows) if not row.job}
        first = [self._waiting.popleft() for _ in range(min(len(free), len(self._waiting)))]
        held = [row.ids for row in self._rows]
        now = ready([job.prompt for job in first], held, self._common, _STEP_TOKENS)
        self._waiting.extendleft(first[i] for i in reversed(range(len(first))) if i not in now)
        jobs = [first[i] for i in now]
        numbers = assign([job.prompt for job in jobs], free, self._common)
        for job, number in zip(jobs, numbers, strict=True):
            self._begin(job, number)

    def _begin(self, job: _Job, number: int) -> None:
        """Put a job into a row, with the longest beginning of its prompt that any row holds."""
        common = [self._common(job.prompt, row.ids) for row in self._rows]
        source = max(range(len(common)), key=lambda row: (common[row], row == number))
        # The last token is read in any case: what comes after it is asked.
        count = min(common[source], len(job.prompt) - 1)
        if source != number:
            self._cache.copy(source, number, count)
        job.unread = job.prompt[count:]
        self._rows[number] = _Row(job.prompt[:count], job)

    def _close_ranks(self) -> None:
        """Move occupied rows into free ones before them, so that a step works on the first n."""
        occupied = [number for number, row in enumerate(self._rows) if row.job]
        for hole in range(len(occupied)):
            if not self._rows[hole].job:
                last = occupied.pop()
                moved = self._rows[last]
                self._cache.copy(last, hole, len(moved.ids))
                self._rows[hole] = _Row(moved.ids, moved.job)
                self._rows[last] = _Row(list(moved.ids))


@dataclass
class _Job:
    """A request that waits or is worked on.

    Attributes:
        unread: tokens that its row does not hold yet.
    """

    request: Request
    prompt: list[int]
    stream: Stream
    sampled: list[int] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)


@dataclass
class _Row:
    """A row of the cache: the tokens whose keys and values it holds, and who works on it."""

    ids: list[int] = field(default_factory=list)
    job: _Job | None = None
