"""Generations of a model in process: the choice of the next token, and the end."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NoReturn

import torch

from ragen_bench.errors import UserError
from ragen_bench.models.base import Completion, Finish, Request, Sampling
from ragen_envs.core.instances import RandomStream

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TAIL_TOKENS = 16
"""Last tokens in which a stop text is searched; no tokenizer needs as many for it."""
_CACHED_TAILS = 1 << 14
NO_NUMBER = -1
"""In place of a token that cannot be sampled."""
_DRAWN = 64
"""Random numbers that an answer draws at once."""


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
    _uniforms: list[float] = field(default_factory=list)

    def uniforms(self, count: int) -> list[float]:
        """Return the random numbers in [0, 1] that choose the next `count` tokens."""
        begin, end = len(self.ids), len(self.ids) + count
        if (lacking := end - len(self._uniforms)) > 0:
            words = self.stream.words(max(lacking, _DRAWN))
            self._uniforms += [word / 2**64 for word in words]
        return self._uniforms[begin:end]


Sampled = tuple[Sequence[Generation], list[list[int]], list[list[float]]]
"""Generations, the tokens sampled for each and, if asked for, their log-probabilities."""


def make_stream(request: Request, sampling: Sampling) -> RandomStream:
    """Return the random numbers of one request, which depend on seed and key alone."""
    return RandomStream("sampling", sampling.seed, request.key)


def sample_tokens(logits: torch.Tensor, uniforms: torch.Tensor, temperature: float) -> torch.Tensor:
    """Return the next token of each row of logits, [rows, vocabulary].

    Inverse transform sampling by numbers in [0, 1], [rows], in double precision; at temperature
    0 the likeliest token.
    """
    if temperature == 0:
        return logits.argmax(dim=-1)
    # In double precision, so that the sum over a large vocabulary is 1 to 1e-12.
    cumulative = torch.softmax(logits.double() / temperature, dim=-1).cumsum(dim=-1)
    chosen = torch.searchsorted(cumulative, uniforms[:, None], right=True)
    return chosen[:, 0].clamp(max=logits.shape[1] - 1)


class TokenSampler:
    """Chooses tokens on the device; with `log_probs` it needs a temperature above 0."""

    def __init__(self, temperature: float, *, log_probs: bool) -> None:
        self._temperature, self._log_probs = temperature, log_probs

    def draw(
        self, generations: Sequence[Generation], count: int, rows: int, device: torch.device
    ) -> torch.Tensor:
        """Return the random numbers of the next `count` tokens, [count, rows].

        Those of rows beyond the generations are 0.
        """
        if self._temperature == 0:
            return torch.zeros(count, rows, dtype=torch.float64, device=device)
        drawn = [one.uniforms(count) for one in generations]
        drawn += [[0.0] * count] * (rows - len(drawn))
        return torch.tensor(drawn, dtype=torch.float64).T.contiguous().to(device)

    def choose(self, logits: torch.Tensor, uniforms: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Return a token for each row of logits and, if asked for, its log-probability.

        The token is `NO_NUMBER` where the logits are NaN or infinite, except for tokens that
        cannot be sampled; so no copy of its own is needed to learn it.
        """
        chosen = sample_tokens(logits, uniforms, self._temperature)
        # NaN is the largest of its row, and of nothing but minus infinity that is.
        marked = torch.where(logits.amax(dim=-1).isfinite(), chosen, NO_NUMBER)
        if not self._log_probs:
            return (marked,)
        log_probs = torch.log_softmax(logits.float() / self._temperature, dim=-1)
        return marked, log_probs.gather(1, chosen[:, None])[:, 0]


def copy_to_host(
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


def refuse_no_number() -> NoReturn:
    """Raise UserError for logits that are not numbers."""
    raise UserError(
        "the model's logits are NaN or infinite, so nothing can be sampled: are its weights whole, "
        "and does it stay finite in its number format?",
        exit_code=1,
    )


def decode_answer(
    tokenizer: PreTrainedTokenizerBase, ids: Sequence[int], ends: Container[int] = ()
) -> str:
    """Return the text of an answer without end, padding and beginning tokens.

    Other special tokens are text: those of some models are the tags of an answer.
    """
    silent = tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.bos_token_id
    kept = [token for token in ids if token not in silent and token not in ends]
    options = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False}
    return str(tokenizer.decode(kept, **options))


class Ending:
    """Decides when a generation is finished, by end-of-turn tokens, stop text and token limit.

    The stop text is a part of the answer; `end_text`, the end of a turn that is not a single token
    of the model, is not.
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        ends: frozenset[int],
        sampling: Sampling,
        end_text: str = "",
    ) -> None:
        self._tokenizer = tokenizer
        self.ends = ends
        self._stop, self._end_text = sampling.stop, end_text
        self.texts = tuple(filter(None, (sampling.stop, end_text)))
        self.limit = sampling.max_tokens

    def is_stopped(self, sampled: Sequence[int]) -> bool:
        """Return whether the last token ends the turn, or completes a text that does."""
        return sampled[-1] in self.ends or self._has_stop(sampled, len(sampled), len(sampled))

    def is_finished(self, sampled: Sequence[int]) -> bool:
        """Return whether a generation has stopped or reached its limit."""
        return len(sampled) >= self.limit or self.is_stopped(sampled)

    def find_end(self, sampled: Sequence[int], known: int) -> int | None:
        """Return how many tokens a generation has at its end, or None if it is not finished.

        It was not finished after `known` tokens.
        """
        last = min(len(sampled), self.limit)
        may_stop = self._has_stop(sampled, known + 1, last)
        for end in range(known + 1, last + 1):
            if (
                end == self.limit
                or sampled[end - 1] in self.ends
                or (may_stop and self._has_stop(sampled, end, end))
            ):
                return end
        return None

    def _has_stop(self, sampled: Sequence[int], first: int, last: int) -> bool:
        """Return whether a text that stops is completed by one of the tokens `first` to `last`."""
        tail = tuple(sampled[max(0, first - TAIL_TOKENS) : last])
        return self.texts != () and self._tail_has_stop(tail)

    def make_completion(self, prompt_tokens: int, sampled: Sequence[int]) -> Completion:
        """Return the completion of a finished generation's token ids."""
        text = decode_answer(self._tokenizer, sampled, self.ends)
        if self._end_text:
            text = text.partition(self._end_text)[0]
        # The token that completes the stop text may be longer; servers cut there too.
        if self._stop and self._stop in text:
            text = text[: text.index(self._stop)] + self._stop
        finish: Finish = "stop" if self.is_stopped(sampled) else "length"
        return Completion(text, prompt_tokens, len(sampled), finish)

    @cached_property
    def _tail_has_stop(self) -> Callable[[tuple[int, ...]], bool]:
        """Return whether tokens contain a text that stops; cached, since generations repeat."""

        @lru_cache(_CACHED_TAILS)
        def has_stop(tail: tuple[int, ...]) -> bool:
            text = str(self._tokenizer.decode(list(tail)))
            return any(stop in text for stop in self.texts)

        return has_stop
