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
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ragen_bench.models.base import Sampling
from ragen_bench.models.hf.cache import RowCache, compute_logits, make_next_step, make_step
from ragen_bench.models.hf.graphs import StepGraphs
from ragen_bench.models.hf.loading import LoadedModel
from ragen_bench.models.hf.sampling import (
    NO_NUMBER,
    Generation,
    TokenSampler,
    refuse_no_number,
)
from ragen_envs.core.instances import RandomStream

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Ids = Sequence[int]
_COLUMN_STEP = 256
"""Rows grow by this many tokens at once, since growing copies them."""
_NO_TOKEN = -1
_STEP_TOKENS = {"cpu": 4096, "cuda": 16384}
"""Maximum tokens of a step that another prompt may join, to limit memory."""
_MIN_SAVING = 32
"""A prompt waits one step for another one if that saves reading this many tokens."""
_STEPS_ON_GPU = 8
"""Steps between two copies to the host; a row whose answer has ended waits for the next one."""
_MIN_ROWS, _MIN_COLUMNS = 8, 256
"""Smallest numbers that several steps are padded to, so that few shapes have to be captured."""
_MIN_CAPTURED = 4
"""Steps that must be left of a block to make a graph for them."""

Sampled = tuple[Sequence[Generation], list[list[int]], list[list[float]]]
"""Generations, the tokens sampled for each and, if asked for, their log-probabilities."""


class RowTokens:
    """The tokens whose keys and values each row holds; without `reuse`, no prefix is reported."""

    def __init__(self, rows: int, reuse: bool = True) -> None:
        self.lengths = [0] * rows
        self._ids = np.full((rows, _COLUMN_STEP), _NO_TOKEN)
        self.reuse = reuse

    def grow(self, rows: int) -> None:
        """Grow to at least `rows` rows."""
        if (added := rows - len(self.lengths)) > 0:
            self._ids = np.pad(self._ids, ((0, added), (0, 0)), constant_values=_NO_TOKEN)
            self.lengths += [0] * added

    def put(self, row: int, ids: Ids) -> None:
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

    def copy(self, source: int, target: int) -> None:
        """Copy a row to another one."""
        self._ids[target] = self._ids[source]
        self.lengths[target] = self.lengths[source]

    def count_common(self, prompt: Ids) -> NDArray[np.intp]:
        """Return the length of the prefix that each row shares with a nonempty prompt, [rows]."""
        if not self.reuse:
            return np.zeros(len(self.lengths), np.intp)
        self._reserve(len(prompt))
        differs = self._ids[:, : len(prompt)] != np.array(prompt)
        return np.where(differs.any(1), differs.argmax(1), len(prompt))

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
            coming.put(len(ready), prompt)
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
        self, model: PreTrainedModel, sampler: TokenSampler, slots: int, steps: int, reuse: bool
    ) -> None:
        self._model, self._sampler, self._steps = model, sampler, steps
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
            for i, row in zip(ready, assign_rows(prompts, free, self._tokens), strict=True):
                generation = first[i]
                common, source = self._tokens.find_longest(generation.prompt, preferred=row)
                # The last token is always read, as the logits after it are needed.
                count = min(common, len(generation.prompt) - 1)
                if source != row:
                    self._cache.copy(source, row, count)
                generation.unread = generation.prompt[count:]
                self._tokens.put(row, generation.prompt[:count])
                self._rows[row] = generation
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
        return active, *_copy_to_host(sampled, len(active))

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
        for hole in range(len(occupied)):
            if not self._rows[hole]:
                last = occupied.pop()
                self._cache.copy(last, hole, self._tokens.lengths[last])
                self._tokens.copy(last, hole)
                self._rows[hole], self._rows[last] = self._rows[last], None


def _copy_to_host(
    sampled: Sequence[tuple[torch.Tensor, ...]], count: int
) -> tuple[list[list[int]], list[list[float]]]:
    """Return the tokens of the first rows, and their log-probabilities if there are any.

    It is the only wait for the device.
    """
    tokens, *scored = (
        torch.stack([one[:count] for one in several], dim=1).tolist()
        for several in zip(*sampled, strict=True)
    )
    return tokens, scored[0] if scored else []


class WaveBatch:
    """Decodes one generation per slot; the next wave waits for the longest of them.

    Prompts are padded on the left and read whole. The inputs of each pass are prepared as by the
    model's own `generate`, so that any cache works.
    """

    def __init__(self, loaded: LoadedModel, sampler: TokenSampler, slots: int) -> None:
        self._model, self._pad, self._slots = loaded.model, loaded.pad, slots
        self._sampler = sampler
        self._wave: list[Generation] = []
        self._ended: set[Generation] = set()

    def grow(self, slots: int) -> None:
        """Have at least `slots` generations in later waves."""
        self._slots = max(self._slots, slots)

    def admit(self, waiting: deque[Generation]) -> None:
        """Begin the next wave, unless one is active."""
        if self._wave:
            return
        self._wave = [waiting.popleft() for _ in range(min(self._slots, len(waiting)))]
        width = max(len(one.prompt) for one in self._wave)
        padding = [width - len(one.prompt) for one in self._wave]
        ids = [[self._pad] * n + one.prompt for n, one in zip(padding, self._wave, strict=True)]
        mask = [[0] * n + [1] * (width - n) for n in padding]
        self._ids = torch.tensor(ids, device=self._model.device)
        self._state = self._model.generate(
            input_ids=self._ids,
            attention_mask=torch.tensor(mask, device=self._model.device),
            pad_token_id=self._pad,
            max_new_tokens=1,
            custom_generate=_return_state,
        )

    def advance(self, limit: int) -> Sampled:  # noqa: ARG002 - as of RowBatch
        """Sample the next token of each generation that has not ended.

        The prompts are read or, later, the last token of each, ended ones included.
        """
        first = not self._wave[0].ids
        if not first:
            last = [[one.ids[-1]] for one in self._wave]
            self._ids = torch.cat([self._ids, self._ids.new_tensor(last)], dim=1)
        inputs = self._model.prepare_inputs_for_generation(
            self._ids,
            next_sequence_length=1 if self._state["use_cache"] and not first else None,
            is_first_iteration=first,
            **self._state,
        )
        outputs = self._model(**inputs, return_dict=True)
        # `generate` calls this between two passes; custom decoding methods do too.
        update = self._model._update_model_kwargs_for_generation  # noqa: SLF001
        self._state = update(outputs, self._state)
        active = [row for row, one in enumerate(self._wave) if one not in self._ended]
        generations = [self._wave[row] for row in active]
        uniforms = self._sampler.draw(generations, 1, len(active), self._model.device)
        sampled = self._sampler.choose(outputs.logits[active, -1], uniforms[0])
        return generations, *_copy_to_host([sampled], len(active))

    def release(self, ended: Sequence[Generation]) -> Sequence[Generation]:
        """Return the whole wave when its last generation has ended."""
        self._ended.update(ended)
        if len(self._ended) < len(self._wave):
            return []
        wave, self._wave, self._ended = self._wave, [], set()
        return wave


def _return_state(_model: object, _input_ids: object, **settings: Any) -> dict[str, Any]:
    """Return the arguments of the passes in `generate`: the cache, the mask and the like."""
    of_the_loop = ("logits_processor", "stopping_criteria", "generation_config", "synced_gpus")
    return {name: value for name, value in settings.items() if name not in of_the_loop}


class Decoder:
    """Samples the tokens of many generations together, for the harness and the trainer.

    It is deterministic: the same calls in the same order give the same tokens on one machine. A
    generation depends on the others only by the rounding of matrix products. The sampling's
    seed is not read, as each generation has its own stream. `log_probs` records those of the
    sampled tokens, and needs a temperature above 0. With `reuse`, common prefixes of prompts
    are read only once. `steps` is the number of steps between two copies to the host; by default
    one on a CPU, where a step costs as much as its rows, and more on a GPU.
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
    ) -> None:
        self.ending = loaded.ending(sampling)
        self._waiting: deque[Generation] = deque()
        sampler = TokenSampler(sampling.temperature, log_probs=log_probs)
        if steps is None:
            steps = 1 if loaded.model.device.type == "cpu" else _STEPS_ON_GPU
        self._batch: RowBatch | WaveBatch = (
            WaveBatch(loaded, sampler, slots)
            if loaded.waves
            else RowBatch(loaded.model, sampler, slots, steps, reuse)
        )

    def grow(self, slots: int) -> None:
        """Allow at least `slots` active generations, keeping the cache."""
        self._batch.grow(slots)

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
