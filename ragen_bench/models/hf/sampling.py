"""Answers of a model in process: the choice of the next token, and the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import torch

from ragen_bench.models.base import Completion, Finish, Request, Sampling
from ragen_envs.core.instances import RandomStream

_TAIL_TOKENS = 16
"""The stop text is looked for in so many last tokens; no tokenizer needs as many for it."""
_TAILS = 1 << 14
"""So many ends of answers are remembered."""


@dataclass(eq=False)
class Answer:
    """An answer that waits, is under way or has ended.

    Attributes:
        prompt: ids of the conversation that it answers.
        stream: where its random numbers come from.
        ids: of the tokens sampled so far, the one that ends it included.
        log_probs: of each sampled token under the distribution that it was drawn from, temperature
            included; empty if they were not asked for.
        unread: ids that the model has to read before the next token can be sampled.
    """

    prompt: list[int]
    stream: RandomStream
    ids: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)
    unread: list[int] = field(default_factory=list)


def stream_of(request: Request, sampling: Sampling) -> RandomStream:
    """Return the random numbers of one answer, which depend on seed and key alone."""
    return RandomStream("sampling", sampling.seed, request.key)


def choose(
    logits: torch.Tensor, streams: Sequence[RandomStream], temperature: float
) -> torch.Tensor:
    """Return the next token of each row by inverting its distribution at a uniform number.

    Args:
        logits: [rows, vocabulary].
        streams: where each row's number comes from; not read at temperature 0.
        temperature: 0 for the likeliest token.
    """
    if temperature == 0:
        return logits.argmax(dim=-1)
    rolls = torch.tensor([stream.word() / 2**64 for stream in streams], dtype=torch.float64)
    # In double precision, so that the sum over a large vocabulary is 1 to 1e-12.
    odds = torch.softmax(logits.double() / temperature, dim=-1).cumsum(dim=-1)
    chosen = torch.searchsorted(odds, rolls.to(logits.device)[:, None], right=True)
    return chosen[:, 0].clamp(max=logits.shape[1] - 1)


class Ending:
    """Tells when an answer is over.

    Args:
        tokenizer: of the model.
        ends: ids of the tokens that end a turn.
        sampling: with the stop text and the limit.

    Attributes:
        limit: the most tokens of an answer.
    """

    def __init__(self, tokenizer: Any, ends: frozenset[int], sampling: Sampling) -> None:
        self._tokenizer = tokenizer
        self._ends = ends
        self._stop = sampling.stop
        self.limit = sampling.max_tokens

    def stopped(self, sampled: Sequence[int]) -> bool:
        """Return whether the last token ends the turn, or completes the stop text."""
        if sampled[-1] in self._ends:
            return True
        return self._stop != "" and self._tail_stops(tuple(sampled[-_TAIL_TOKENS:]))

    def over(self, sampled: Sequence[int]) -> bool:
        """Return whether an answer has stopped or reached its limit."""
        return len(sampled) >= self.limit or self.stopped(sampled)

    def completion(self, read: int, sampled: Sequence[int]) -> Completion:
        """Return the answer of sampled tokens.

        Args:
            read: tokens of the prompt.
            sampled: up to and including the one that ended it.
        """
        text = self._tokenizer.decode(
            sampled, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        # The token that completes the stop text may run on; servers cut there too.
        if self._reached(text):
            text = text[: text.index(self._stop)] + self._stop
        finish: Finish = "stop" if self.stopped(sampled) else "length"
        return Completion(text, read, len(sampled), finish)

    @cached_property
    def _tail_stops(self) -> Callable[[tuple[int, ...]], bool]:
        """Tell whether the stop text is in tokens; sampled ones repeat, so it is remembered."""
        return lru_cache(_TAILS)(lambda tail: self._reached(self._tokenizer.decode(tail)))

    def _reached(self, text: str) -> bool:
        return self._stop != "" and self._stop in text
