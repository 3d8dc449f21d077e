"""`hf/NAME-OR-DIR`: a Hugging Face model in process, many conversations at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import transformers

from ragen_bench.errors import UserError
from ragen_bench.models.base import CallEngine, Completion, Engine, Request, Sampling
from ragen_bench.models.hf_loading import identity_of, load
from ragen_envs.instances import Stream

_TAIL_TOKENS = 16
"""The stop text is looked for in so many last tokens; no tokenizer needs as many for it."""


class HFModel:
    """Generates with `transformers.generate`, left-padded, one batch for many episodes.

    Sampling inverts the distribution at a uniform number that depends on seed, request and token
    alone, so that an answer does not depend on which other requests share its batch (up to the
    rounding of the logits), and no global generator is read.

    Args:
        name: a folder with config.json, tokenizer and weights, or a name that the hub knows.
        batch_size: conversations generated at once.

    Raises:
        UserError: if there is no model at that place.
    """

    def __init__(self, name: str, batch_size: int = 16) -> None:
        self.slots = batch_size
        self.group_size = batch_size
        self._name = name
        self._loaded = load(name)

    def identity(self) -> dict[str, Any]:
        """Return the number format, and a hash of a folder's files or the hub's revision."""
        return identity_of(self._name, self._loaded)

    def probe(self) -> str:
        """Return the device it runs on."""
        return f"in this process, on {self._loaded.model.device}"

    def engine(self, sampling: Sampling) -> Engine:
        """Return an engine that generates for all requests that wait at once."""
        return CallEngine(lambda requests: self._complete(requests, sampling))

    def _complete(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """Return one completion for each request; one call to `generate` for them all.

        Raises:
            UserError: if a conversation does not fit the model's context.
        """
        rows = [self._read(request, sampling.max_tokens) for request in requests]
        ids, mask = self._padded(rows)
        ends = _Ends(self._loaded.tokenizer, self._loaded.ends, sampling.stop, ids.shape[1])
        streams = [Stream("sampling", sampling.seed, request.key) for request in requests]
        with torch.inference_mode():
            generated = self._loaded.model.generate(
                input_ids=ids,
                attention_mask=mask,
                max_new_tokens=sampling.max_tokens,
                do_sample=False,
                logits_processor=[_Sampler(streams, sampling.temperature)],
                stopping_criteria=[ends],
                pad_token_id=self._loaded.pad,
            )
        return [
            self._completion(len(row), sampled[ids.shape[1] :], length, sampling.stop)
            for row, sampled, length in zip(rows, generated.tolist(), ends.lengths, strict=True)
        ]

    def _read(self, request: Request, max_tokens: int) -> list[int]:
        """Return the ids of a conversation."""
        text = self._loaded.prompt(request.messages)
        ids: list[int] = self._loaded.tokenizer(text, add_special_tokens=False)["input_ids"]
        context = getattr(self._loaded.model.config, "max_position_embeddings", None)
        if context is not None and len(ids) + max_tokens > context:
            raise UserError(
                f"{request.key} has {len(ids)} tokens, which with {max_tokens} for the answer "
                f"exceed the {context} of {self._name!r}; lower --max-tokens or leave it out",
                exit_code=1,
            )
        return ids

    def _padded(self, rows: Sequence[list[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        width = max(map(len, rows))
        ids = [[self._loaded.pad] * (width - len(row)) + row for row in rows]
        mask = [[0] * (width - len(row)) + [1] * len(row) for row in rows]
        device = self._loaded.model.device
        return torch.tensor(ids, device=device), torch.tensor(mask, device=device)

    def _completion(
        self, read: int, sampled: list[int], length: int | None, stop: str
    ) -> Completion:
        sampled = sampled if length is None else sampled[:length]
        text = self._loaded.tokenizer.decode(
            sampled, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        # The token that completes the stop text may run on; servers cut there too.
        answer, found, _ = text.partition(stop)
        return Completion(answer + found, read, len(sampled))


class _Sampler(transformers.LogitsProcessor):
    """Leaves one token a row possible: the one that the row's own stream chooses."""

    def __init__(self, streams: Sequence[Stream], temperature: float) -> None:
        self._streams = streams
        self._temperature = temperature

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        if self._temperature == 0:
            return scores
        rolls = torch.tensor(
            [stream.word() / 2**64 for stream in self._streams], dtype=torch.float64
        ).to(scores.device)
        # In double precision, so that the sum over a large vocabulary is 1 to 1e-12.
        odds = torch.softmax(scores.double() / self._temperature, dim=-1).cumsum(dim=-1)
        chosen = torch.searchsorted(odds, rolls[:, None], right=True)
        chosen = chosen.clamp(max=scores.shape[1] - 1)
        return torch.full_like(scores, float("-inf")).scatter(1, chosen, 0.0)


class _Ends(transformers.StoppingCriteria):
    """Ends each row after the stop text or an end-of-turn token, and counts its tokens."""

    def __init__(self, tokenizer: Any, ends: frozenset[int], stop: str, start: int) -> None:
        self._tokenizer, self._ends, self._stop, self._start = tokenizer, ends, stop, start
        self.lengths: list[int | None] = []

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        if not self.lengths:
            self.lengths = [None] * len(input_ids)
        length = input_ids.shape[1] - self._start
        tail = input_ids[:, max(self._start, input_ids.shape[1] - _TAIL_TOKENS) :]
        for i, row in enumerate(tail.tolist()):
            if self.lengths[i] is None and self._ended(row):
                self.lengths[i] = length
        return torch.tensor([n is not None for n in self.lengths], device=input_ids.device)

    def _ended(self, row: list[int]) -> bool:
        return row[-1] in self._ends or self._stop in self._tokenizer.decode(row)
