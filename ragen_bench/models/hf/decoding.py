"""The decode loop: each step samples one more token of every active generation.

Batching is continuous: generations are in rows of keys and values, refilled as soon as one is free.
On a GPU several steps run between two copies to the host, which cuts what was sampled after an end.
Models whose cache is not one row of keys and values per generation decode in waves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING

import torch

from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.cache import RowCache, compute_logits, make_next_step, make_step
from ragen_bench.models.hf.graphs import StepGraphs
from ragen_bench.models.hf.loading import LoadedModel
from ragen_bench.models.hf.row_tokens import RowTokens, assign_rows, select_ready
from ragen_bench.models.hf.sampling import (
    NO_NUMBER,
    Generation,
    Sampled,
    TokenSampler,
    copy_to_host,
    refuse_no_number,
)
from ragen_bench.models.hf.waves import WaveBatch
from ragen_envs.core.instances import RandomStream

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_STEP_TOKENS = {"cpu": 4096, "cuda": 16384}
"""Maximum tokens of a step that another prompt may join, to limit memory."""
_STEPS_ON_GPU = 8
"""Steps between two copies to the host; a row whose answer has ended waits for the next one."""
_MIN_ROWS, _MIN_COLUMNS = 8, 256
"""Smallest numbers that several steps are padded to, so that few shapes have to be captured."""
_MIN_CAPTURED = 4
"""Steps that must be left of a block to make a graph for them."""


def round_up(count: int, least: int) -> int:
    """Return the next power of two or the middle between two of them, at least `least`."""
    step = max(least, 1 << max(0, count.bit_length() - 2))
    return -(-count // step) * step


class RowBatch:
    """Decodes generations in rows; none waits for the end of another one.

    A free row is taken in the next block of steps: its prompt is read in the same pass that
    decodes the others. A prefix that any row holds, such as a conversation's earlier turns, is
    not read again. The model is one for which `enable_rows` succeeded.

    A block has one step, or up to `steps`. Then rows and columns are padded to a few shapes, and
    on a GPU each shape's step after the first one, which may read prompts, is a CUDA graph.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        sampler: TokenSampler,
        slots: int,
        steps: int,
        reuse: bool,
        exchange: bool,
    ) -> None:
        self._model, self._sampler, self._steps = model, sampler, steps
        self._exchange = exchange
        self._rows: list[Generation | None] = [None] * slots
        self._tokens = RowTokens(slots, reuse)
        self._cache = RowCache(slots)
        self._more_prompts = False
        self.graphs = StepGraphs(model.device)

    def grow(self, slots: int) -> None:
        """Grow to at least `slots` rows, keeping their contents."""
        self._rows += [None] * (slots - len(self._rows))
        self._tokens.grow(slots)
        self._cache.grow(slots)

    def forget(self) -> None:
        """Read all prompts anew; memory and graphs stay."""
        self._tokens = RowTokens(len(self._rows), self._tokens.reuse)

    def admit(self, waiting: deque[Generation]) -> None:
        """Give the free rows to waiting generations."""
        free = [row for row, generation in enumerate(self._rows) if not generation]
        if waiting and free:
            first = [waiting.popleft() for _ in range(min(len(free), len(waiting)))]
            budget = _STEP_TOKENS.get(self._model.device.type, _STEP_TOKENS["cpu"])
            ready = select_ready([one.prompt for one in first], self._tokens, budget)
            later = sorted(set(range(len(first))) - set(ready), reverse=True)
            waiting.extendleft(first[i] for i in later)
            prompts = [first[i].prompt for i in ready]
            sources: dict[int, int] = {}
            columns = 0
            for i, row in zip(ready, assign_rows(prompts, free, self._tokens), strict=True):
                generation = first[i]
                common, source = self._tokens.find_longest(generation.prompt, preferred=row)
                # The last token is always read, as the logits after it are needed.
                count = min(common, len(generation.prompt) - 1)
                if source != row:
                    # Another prompt may have taken its row, and copies what was there before.
                    sources[row] = sources.get(source, source)
                    columns = max(columns, count)
                generation.unread = generation.prompt[count:]
                self._tokens.replace_row(row, generation.prompt[:count])
                self._rows[row] = generation
            self._cache.copy(sources, columns)
            self._tokens.forget_prompts()
        self._more_prompts = bool(waiting) and None in self._rows
        self._move_to_front()

    def advance(self, limit: int) -> Sampled:
        """Sample the next tokens of all occupied rows; none has `limit` tokens before."""
        active = [generation for generation in self._rows if generation]
        longest = max(limit - len(one.ids) for one in active)
        # A prompt that has a free row is not kept waiting.
        steps = 1 if self._more_prompts else min(self._steps, longest)
        lengths = self._tokens.lengths
        ends = [length + len(one.unread) for length, one in zip(lengths, active, strict=False)]
        rows, columns = len(active), max(ends) + steps - 1
        if self._steps > 1:
            rows = min(round_up(rows, _MIN_ROWS), len(self._rows))
            columns = round_up(columns, _MIN_COLUMNS)
        # Unused rows go along, and write behind their contents.
        self._cache.reserve(max(columns, max(lengths[:rows]) + steps))
        self.graphs.keep_for(self._cache.shape)
        device, dtype = self._model.device, self._model.dtype
        # All copies to the device are before the first pass, as each would wait for it.
        uniforms = self._sampler.draw(active, steps, rows, device)
        spare = rows - len(active)
        sampled: list[tuple[torch.Tensor, ...]] = []
        if any(len(one.unread) > 1 for one in active):
            places = torch.tensor(ends + lengths[len(active) : rows], device=device)
            unread = [one.unread for one in active]
            step = make_step(self._cache, lengths[: len(active)], unread, device, dtype)
            logits = compute_logits(self._model, step)
            sampled = [self._sampler.choose(logits, uniforms[0, : len(active)])]
            ids = torch.nn.functional.pad(sampled[0][0], (0, spare))
        else:
            last = [one.unread[0] for one in active] + [0] * spare
            ids, places = torch.tensor([last, lengths[:rows]], device=device)
        following = partial(self._follow, columns)
        for number in range(len(sampled), steps):
            inputs = ids, places, uniforms[number]
            capture = steps - number >= _MIN_CAPTURED
            sampled.append(self.graphs.run((rows, columns), following, inputs, capture=capture))
            if len(sampled) < steps:
                ids, places = sampled[-1][0], places + 1
        for row, one in enumerate(active):
            self._tokens.append(row, one.unread)
        return active, *copy_to_host(sampled, len(active))

    def _follow(
        self, columns: int, ids: torch.Tensor, places: torch.Tensor, uniforms: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        """Read one token in each row at its place, and sample the next ones."""
        # A row may have no token any more, which is known when the block is copied to the host.
        known = ids.clamp(min=0)
        step = make_next_step(self._cache, known, places, columns, self._model.dtype)
        return self._sampler.choose(compute_logits(self._model, step), uniforms)

    def release(self, ended: Sequence[Generation]) -> Sequence[Generation]:
        """Free the rows of ended generations; the rows keep their keys and values."""
        ended_set = set(ended)
        for row, one in enumerate(self._rows):
            if one:
                *read, last = one.unread
                if read:
                    self._tokens.append(row, read)
                    one.unread = [last]
        self._rows = [None if one in ended_set else one for one in self._rows]
        return ended

    def _move_to_front(self) -> None:
        """Move occupied rows into free ones before them, so that a step covers the first n."""
        occupied = [row for row, generation in enumerate(self._rows) if generation]
        sources: dict[int, int] = {}
        for hole in range(len(occupied)):
            if not self._rows[hole]:
                sources[hole] = last = occupied.pop()
                if self._exchange:
                    sources[last] = hole
                    self._tokens.exchange(last, hole)
                else:
                    self._tokens.copy(last, hole)
                self._rows[hole], self._rows[last] = self._rows[last], None
        columns = max((self._tokens.lengths[row] for row in sources), default=0)
        self._cache.copy(sources, columns)


class Decoder:
    """Samples the tokens of many generations together, for the harness and the trainer.

    It is deterministic: the same calls in the same order give the same tokens on one machine. A
    generation depends on the others only by the rounding of matrix products. The sampling's
    seed is not read, as each generation has its own stream. `log_probs` records those of the
    sampled tokens, and needs a temperature above 0. With `reuse`, common prefixes of prompts
    are read only once. `steps` is the number of steps between two copies to the host; by default
    one on a CPU, where a step costs as much as its rows, and more on a GPU. With `exchange`, rows
    that have to move leave those of ended generations whole, for conversations that go on later.
    """

    def __init__(
        self,
        loaded: LoadedModel,
        sampling: Sampling,
        slots: int,
        *,
        log_probs: bool = False,
        reuse: bool = True,
        steps: int | None = None,
        exchange: bool = False,
    ) -> None:
        self.ending = loaded.ending(sampling)
        self._waiting: deque[Generation] = deque()
        sampler = TokenSampler(sampling.temperature, log_probs=log_probs)
        if steps is None:
            steps = 1 if loaded.model.device.type == "cpu" else _STEPS_ON_GPU
        self._batch: RowBatch | WaveBatch = (
            WaveBatch(loaded, sampler, slots)
            if loaded.waves
            else RowBatch(loaded.model, sampler, slots, steps, reuse, exchange)
        )

    def grow(self, slots: int) -> None:
        """Allow at least `slots` active generations, keeping the cache."""
        self._batch.grow(slots)

    def forget(self) -> None:
        """Read all prompts anew, as with other weights; no generation may be active."""
        self._batch.forget()

    def submit(self, prompt: Sequence[int], stream: RandomStream) -> Generation:
        """Return the generation after a prompt, which `collect` will complete.

        The prompt is the whole conversation, at least one token id. The model reads those
        that it does not know yet.
        """
        generation = Generation(list(prompt), stream)
        self._waiting.append(generation)
        return generation

    @torch.inference_mode()
    def collect(self) -> Sequence[Generation]:
        """Decode until at least one generation has ended, and return those that have."""
        ended: Sequence[Generation] = []
        while not ended:
            ended = self._step()
        return ended

    def _step(self) -> Sequence[Generation]:
        self._batch.admit(self._waiting)
        active, tokens, log_probs = self._batch.advance(self.ending.limit)
        ended = []
        for number, (generation, ids) in enumerate(zip(active, tokens, strict=True)):
            known = len(generation.ids)
            generation.ids += takewhile(NO_NUMBER.__ne__, ids)
            end = self.ending.find_end(generation.ids, known)
            if end is not None:
                del generation.ids[end:]
                ended.append(generation)
            elif NO_NUMBER in ids:
                refuse_no_number()
            generation.unread = generation.ids[known:]
            if log_probs:
                generation.log_probs += log_probs[number][: len(generation.unread)]
        return self._batch.release(ended)
