"""Generations of a model in process: the choice of the next token, and the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import torch

from ragen_bench.models.base import Completion, Finish, Request, Sampling
from ragen_envs.core.instances import RandomStream

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_TAIL_TOKENS = 16
"""Last tokens in which the stop text is searched; no tokenizer needs as many for it."""
_CACHED_TAILS = 1 << 14


@dataclass(eq=False)
class Generation:
    """Tokens that are sampled after a prompt.

    `ids` are those sampled so far, including the one that ends it. `log_probs` has the
    log-probability of each under the distribution that it was drawn from, temperature included;
    it is empty if they were not asked for. `unread` are the ids that the model must read before
    it can sample the next one.
    """

    prompt: list[int]
    stream: RandomStream
    ids: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)


def make_stream(request: Request, sampling: Sampling) -> RandomStream:
    """Return the random numbers of one request, which depend on seed and key alone."""
    return RandomStream("sampling", sampling.seed, request.key)


def sample_tokens(
    logits: torch.Tensor, streams: Sequence[RandomStream], temperature: float
) -> torch.Tensor:
    """Return the next token of each row of logits, [rows, vocabulary].

    Inverse transform sampling; at temperature 0 the likeliest token, without random numbers.
    """
    if temperature == 0:
        return logits.argmax(dim=-1)
    uniforms = torch.tensor([stream.word() / 2**64 for stream in streams], dtype=torch.float64)
    # In double precision, so that the sum over a large vocabulary is 1 to 1e-12.
    cumulative = torch.softmax(logits.double() / temperature, dim=-1).cumsum(dim=-1)
    chosen = torch.searchsorted(cumulative, uniforms.to(logits.device)[:, None], right=True)
    return chosen[:, 0].clamp(max=logits.shape[1] - 1)


class Ending:
    """Decides when a generation is finished, by end-of-turn tokens, stop text and token limit."""

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, ends: frozenset[int], sampling: Sampling
    ) -> None:
        self._tokenizer = tokenizer
        self._ends = ends
        self._stop = sampling.stop
        self.limit = sampling.max_tokens

    def is_stopped(self, sampled: Sequence[int]) -> bool:
        """Return whether the last token ends the turn, or completes the stop text."""
        if sampled[-1] in self._ends:
            return True
        return self._stop != "" and self._tail_has_stop(tuple(sampled[-_TAIL_TOKENS:]))

    def is_finished(self, sampled: Sequence[int]) -> bool:
        """Return whether a generation has stopped or reached its limit."""
        return len(sampled) >= self.limit or self.is_stopped(sampled)

    def make_completion(self, prompt_tokens: int, sampled: Sequence[int]) -> Completion:
        """Return the completion of a finished generation's token ids."""
        text = str(
            self._tokenizer.decode(
                list(sampled), skip_special_tokens=True, clean_up_tokenization_spaces=False
            )
        )
        # The token that completes the stop text may be longer; servers cut there too.
        if self._stop and self._stop in text:
            text = text[: text.index(self._stop)] + self._stop
        finish: Finish = "stop" if self.is_stopped(sampled) else "length"
        return Completion(text, prompt_tokens, len(sampled), finish)

    @cached_property
    def _tail_has_stop(self) -> Callable[[tuple[int, ...]], bool]:
        """Return whether tokens contain the stop text; cached, since generations repeat."""
        return lru_cache(_CACHED_TAILS)(lambda tail: self._stop in self._tokenizer.decode(tail))
