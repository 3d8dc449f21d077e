"""Samples answers of many conversations side by side, each of which is read once only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache

from ragen_bench.models.hf_sampling import Ending, choose
from ragen_envs.instances import Stream
from ragen_starpo.rollout.trajectory import Sampled


class Sampler:
    """Keeps keys and values of all conversations over their turns.

    Rows stand in one rectangle. What a row has not, because its observations or answers were
    shorter, is masked, and its positions count its own tokens only; so a row's log-probabilities
    are those of its tokens alone, up to rounding.

    Args:
        model: causal, of transformers; in evaluation mode while it samples.
        ending: when an answer is over.
        temperature: above 0.
        pad: an id for what is masked.
    """

    def __init__(self, model: Any, ending: Ending, temperature: float, pad: int) -> None:
        self._model, self._ending = model, ending
        self._temperature, self._pad = temperature, pad
        self._cache = DynamicCache(config=model.config)
        self._mask = torch.zeros(0, 0, dtype=torch.int64, device=model.device)

    @torch.inference_mode()
    def answers(
        self, observed: Sequence[Sequence[int]], streams: Sequence[Stream]
    ) -> list[Sampled]:
        """Read what each conversation observed, and sample its next answer.

        Args:
            observed: a row's ids since its last answer, at least one.
            streams: where each row's random numbers come from.
        """
        rows = len(observed)
        if not len(self._mask):
            self._mask = self._mask.new_zeros(rows, 0)
        answers: list[list[int]] = [[] for _ in range(rows)]
        log_probs: list[list[float]] = [[] for _ in range(rows)]
        logits = self._read(observed)
        under_way = list(range(rows))
        while under_way:
            odds = torch.log_softmax(logits.float() / self._temperature, dim=-1)
            chosen = choose(
                logits[under_way], [streams[row] for row in under_way], self._temperature
            )
            picked = odds[under_way, chosen].tolist()
            for row, token, log_prob in zip(under_way, chosen.tolist(), picked, strict=True):
                answers[row].append(token)
                log_probs[row].append(log_prob)
            step: list[list[int]] = [[] for _ in range(rows)]
            for row in under_way:
                step[row] = answers[row][-1:]
            under_way = [row for row in under_way if not self._ending.over(answers[row])]
            # The last token is read too: the next observation follows it.
            logits = self._read(step)
        return [
            Sampled(tuple(ids), tuple(found), self._ending.stopped(ids))
            for ids, found in zip(answers, log_probs, strict=True)
        ]

    def keep(self, rows: Sequence[int]) -> None:
        """Drop all conversations but these, which are rows from 0 on afterwards."""
        chosen = torch.tensor(rows, dtype=torch.int64, device=self._mask.device)
        self._mask = self._mask[chosen]
        if self._mask.shape[1]:
            self._cache.batch_select_indices(chosen)

    def _read(self, ids: Sequence[Sequence[int]]) -> Tensor:
        """Read ids that follow, and return the logits after each row's last one."""
        width = max(map(len, ids))
        # Padded on the left, so that every row's last token is in the last column.
        block = self._mask.new_tensor([[self._pad] * (width - len(row)) + [*row] for row in ids])
        new = self._mask.new_tensor([[0] * (width - len(row)) + [1] * len(row) for row in ids])
        before = self._mask.sum(1, keepdim=True)
        self._mask = torch.cat([self._mask, new], 1)
        out = self._model(
            input_ids=block,
            attention_mask=self._mask,
            position_ids=(before + new.cumsum(1) - 1).clamp(min=0),
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
        )
        logits: Tensor = out.logits[:, -1]
        return logits
