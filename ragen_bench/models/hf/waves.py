"""Decoding in waves, for models whose cache is not one row of keys and values per generation."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import torch

from ragen_bench.models.hf.loading import LoadedModel
from ragen_bench.models.hf.sampling import Generation, Sampled, TokenSampler, copy_to_host


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

    def forget(self) -> None:
        """Do nothing: each wave reads its prompts."""

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
        return generations, *copy_to_host([sampled], len(active))

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
