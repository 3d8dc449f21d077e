"""Answers in waves, for models whose cache is not a row of keys and values for each answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import torch

from ragen_bench.models.hf.loading import Loaded
from ragen_bench.models.hf.sampling import Answer


class Waves:
    """Decodes as many answers as there are slots; the next ones wait for the longest of them.

    Prompts are padded on the left and read whole. The inputs of each pass are prepared as the
    model's own `generate` does, so that any cache works.

    Args:
        loaded: the model.
        slots: how many answers a wave has.
    """

    def __init__(self, loaded: Loaded, slots: int) -> None:
        self._model, self._pad, self._slots = loaded.model, loaded.pad, slots
        self._wave: list[Answer] = []
        self._ended: set[Answer] = set()

    def grow(self, slots: int) -> None:
        """Have so many answers at least in the waves that begin from now on."""
        self._slots = max(self._slots, slots)

    def admit(self, waiting: deque[Answer]) -> None:
        """Begin the next wave, if none is under way."""
        if self._wave:
            return
        self._wave = [waiting.popleft() for _ in range(min(self._slots, len(waiting)))]
        width = max(len(answer.prompt) for answer in self._wave)
        padding = [width - len(answer.prompt) for answer in self._wave]
        ids = [[self._pad] * n + a.prompt for n, a in zip(padding, self._wave, strict=True)]
        mask = [[0] * n + [1] * (width - n) for n in padding]
        self._ids = torch.tensor(ids, device=self._model.device)
        self._state = self._model.generate(
            input_ids=self._ids,
            attention_mask=torch.tensor(mask, device=self._model.device),
            pad_token_id=self._pad,
            max_new_tokens=1,
            custom_generate=_prepared,
        )

    def read(self) -> tuple[Sequence[Answer], torch.Tensor]:
        """Read the prompts or, later, the last token of every answer, ended ones included."""
        first = not self._wave[0].ids
        if not first:
            last = [[answer.ids[-1]] for answer in self._wave]
            self._ids = torch.cat([self._ids, self._ids.new_tensor(last)], dim=1)
        inputs = self._model.prepare_inputs_for_generation(
            self._ids,
            next_sequence_length=1 if self._state["use_cache"] and not first else None,
            is_first_iteration=first,
            **self._state,
        )
        outputs = self._model(**inputs, return_dict=True)
        # What `generate` does between two passes; custom decoding methods call it too.
        update = self._model._update_model_kwargs_for_generation  # noqa: SLF001
        self._state = update(outputs, self._state)
        going = [row for row, answer in enumerate(self._wave) if answer not in self._ended]
        return [self._wave[row] for row in going], outputs.logits[going, -1]

    def release(self, ended: Sequence[Answer]) -> Sequence[Answer]:
        """Return the whole wave when its last answer has ended."""
        self._ended.update(ended)
        if len(self._ended) < len(self._wave):
            return []
        wave, self._wave, self._ended = self._wave, [], set()
        return wave


def _prepared(_model: Any, _input_ids: Any, **settings: Any) -> dict[str, Any]:
    """Return what the passes of `generate` are given: the cache, the mask and the like."""
    of_the_loop = ("logits_processor", "stopping_criteria", "generation_config", "synced_gpus")
    return {name: value for name, value in settings.items() if name not in of_the_loop}
