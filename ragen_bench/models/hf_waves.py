"""Models whose cache is not a row of keys and values a token: one call of `generate` a wave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import transformers

from ragen_bench.models.base import Completion, Request, Sampling
from ragen_bench.models.hf_loading import Loaded
from ragen_bench.models.hf_memory import enough_memory
from ragen_bench.models.hf_sampling import Ending, choose, stream_of
from ragen_envs.instances import Stream


def complete(loaded: Loaded, sampling: Sampling, requests: Sequence[Request]) -> list[Completion]:
    """Return one completion for each request; all of them wait for the longest.

    Rows are padded on the left. The choice of tokens and the end of answers are those of the
    continuous engine.

    Raises:
        UserError: if the device has too little memory.
    """
    prompts = [loaded.chat.read(request.messages) for request in requests]
    answers = [Completion("", len(ids), 0, finish="context") for ids in prompts]
    fitting = [i for i, ids in enumerate(prompts) if loaded.has_room(ids, sampling.max_tokens)]
    if not fitting:
        return answers
    ids, mask = _padded([prompts[i] for i in fitting], loaded)
    streams = [stream_of(requests[i], sampling) for i in fitting]
    ending = Ending(loaded.tokenizer, loaded.ends, sampling)
    ends = _Ends(ending, ids.shape[1])
    with enough_memory(loaded.model.device, len(fitting)), torch.inference_mode():
        generated = loaded.model.generate(
            input_ids=ids,
            attention_mask=mask,
            max_new_tokens=sampling.max_tokens,
            do_sample=False,
            logits_processor=[_Sampler(streams, sampling.temperature)],
            stopping_criteria=[ends],
            pad_token_id=loaded.pad,
        )
    rows = generated[:, ids.shape[1] :].tolist()
    for i, sampled, length in zip(fitting, rows, ends.lengths, strict=True):
        answers[i] = ending.completion(len(prompts[i]), sampled[:length])
    return answers


def _padded(rows: Sequence[list[int]], loaded: Loaded) -> tuple[torch.Tensor, torch.Tensor]:
    width = max(map(len, rows))
    ids = [[loaded.pad] * (width - len(row)) + row for row in rows]
    mask = [[0] * (width - len(row)) + [1] * len(row) for row in rows]
    device = loaded.model.device
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)


class _Sampler(transformers.LogitsProcessor):
    """Leaves one token a row possible: the one that the row's own stream chooses."""

    def __init__(self, streams: Sequence[Stream], temperature: float) -> None:
        self._streams = streams
        self._temperature = temperature

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        chosen = choose(scores, self._streams, self._temperature)
        return torch.full_like(scores, float("-inf")).scatter(1, chosen[:, None], 0.0)


class _Ends(transformers.StoppingCriteria):
    """Ends each row when its answer has stopped, and counts its tokens."""

    def __init__(self, ending: Ending, start: int) -> None:
        self._ending, self._start = ending, start
        self.lengths: list[int | None] = []

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        if not self.lengths:
            self.lengths = [None] * len(input_ids)
        length = input_ids.shape[1] - self._start
        for i, row in enumerate(input_ids[:, self._start :].tolist()):
            if self.lengths[i] is None and self._ending.stopped(row):
                self.lengths[i] = length
        return torch.tensor([n is not None for n in self.lengths], device=input_ids.device)
