"""Measures how much thoughts depend on their contexts: mutual information and retrieval (RAGEN-2).

In template collapse (RAGEN-2, arXiv 2604.06268) thoughts stay diverse, so their entropy stays, but
no longer depend on the context. The policy scores each thought after each context by teacher
forcing; the metrics follow from these log-probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from math import isfinite
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ragen_bench.models.hf.sampling import decode_answer
from ragen_bench.models.thinking_marks import THINK
from ragen_bench.runs.schema import EpisodeRecord
from ragen_envs.core.instances import RandomStream
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.rollout.trajectory import (
    Sampled,
    TokenBatch,
    TokenSequence,
    TokenTrajectory,
    Turn,
    batch_of,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_OPEN, _CLOSE = "<think>", "</think>"
_TAIL = 8
"""Tokens at the end of a prompt that may open a thought."""


@dataclass(frozen=True)
class Thought:
    """A model's thought in one turn, as token ids.

    The context is all that the model read before its response, the opening that of the tag. The ids
    of the thought go up to the one that completes the closing tag: the first may include the end of
    the opening tag, the last the beginning of the text after it.
    """

    context: tuple[int, ...]
    opening: tuple[int, ...]
    ids: tuple[int, ...]
    record: EpisodeRecord

    def after(self, context: tuple[int, ...]) -> TokenTrajectory:
        """Return the thought as a response to another context, after its own opening."""
        sampled = Sampled(self.ids, (0.0,) * len(self.ids), stopped=True)
        turn = Turn((*context, *self.opening), sampled, 0.0)
        return TokenTrajectory(0, (turn,), self.record)


def measure_thoughts(
    recipe: Recipe,
    trajectories: Sequence[TokenTrajectory],
    iteration: int,
    tokenizer: PreTrainedTokenizerBase,
    log_probs: Callable[[TokenBatch], Tensor],
) -> dict[str, float]:
    """Return the information of some thoughts of an iteration, by `thoughts/NAME`.

    The order of the trajectories must not depend on the driver. `log_probs` returns the policy's
    log-probabilities of a batch's sampled tokens, 0 elsewhere. Values that are not finite are left
    out.
    """
    count = recipe.diagnostics.thoughts
    thoughts = draw_thoughts(trajectories, count, recipe.seed, iteration, tokenizer)
    metrics = score_thoughts(thoughts, log_probs)
    return {f"thoughts/{name}": value for name, value in metrics.items() if isfinite(value)}


def draw_thoughts(
    trajectories: Sequence[TokenTrajectory],
    count: int,
    seed: int,
    iteration: int,
    tokenizer: PreTrainedTokenizerBase,
) -> list[Thought]:
    """Return up to `count` random thoughts of an iteration, from as many groups as possible.

    Each trajectory gives at most one thought, of a random turn. A later context includes the
    episode's earlier thoughts, which a model that copies would make likely.
    """
    stream = RandomStream("thoughts", seed, iteration)
    chosen: list[Thought] = []
    groups: dict[int, list[TokenTrajectory]] = {}
    for number in stream.sample(range(len(trajectories)), len(trajectories)):
        groups.setdefault(trajectories[number].group, []).append(trajectories[number])
    for trajectory in filter(None, chain.from_iterable(zip_longest(*groups.values()))):
        turns = [
            (sequence, place)
            for sequence in trajectory.sequences
            for place in range(len(sequence.turns))
        ]
        thoughts = (
            find_thought(*turns[number], trajectory.record, tokenizer)
            for number in stream.sample(range(len(turns)), len(turns))
        )
        chosen += islice(filter(None, thoughts), 1)
        if len(chosen) == count:
            break
    return chosen


def find_thought(
    sequence: TokenSequence, place: int, record: EpisodeRecord, tokenizer: PreTrainedTokenizerBase
) -> Thought | None:
    """Return the thought at a response's start, to its end if unclosed, or None.

    The chat template may have opened it in the prompt already.
    """
    turn = sequence.turns[place]
    sampled, response = turn.sampled, turn.sampled.ids
    added = tokenizer.added_tokens_decoder
    ended = sampled.stopped and any(added[i].special for i in response[-1:] if i in added)
    text = _decode(response[:-1] if ended else response, tokenizer).lstrip()
    opened = THINK.opening(_decode(turn.observed[-_TAIL:], tokenizer))
    is_open = opened != "" and _CLOSE not in opened and not text.startswith(_OPEN)
    if is_open:
        text = _OPEN + text
    if not text.startswith(_OPEN) or not text.removeprefix(_OPEN).partition(_CLOSE)[0].strip():
        return None
    begin = 0 if is_open else _end_of_tag(_OPEN, response, tokenizer)
    if begin and _decode(response[:begin], tokenizer).partition(_OPEN)[2].strip():
        begin -= 1  # the token has a part of the thought too
    end = _end_of_tag(_CLOSE, response, tokenizer) if _CLOSE in text else len(response)
    before = chain.from_iterable(
        (*turn.observed, *turn.sampled.ids) for turn in sequence.turns[:place]
    )
    context = (*before, *sequence.turns[place].observed)
    return Thought(context, response[:begin], response[begin:end], record)


def score_thoughts(
    thoughts: Sequence[Thought], log_probs: Callable[[TokenBatch], Tensor]
) -> dict[str, float]:
    """Return the information of thoughts about their contexts.

    Equal contexts, as the prompts of an instance's rollouts, are merged. A thought's probability is
    that of its tokens after the context and its own opening tag, as in the paper's code; a
    tokenizer may join the tag to the first word. The closing tag counts, since the probabilities of
    unclosed thoughts would not sum to 1. The policy reads thoughts times contexts sequences.

    `count` and `contexts` are their numbers; with at least two contexts, `measure_information`
    follows.
    """
    contexts = list(dict.fromkeys(thought.context for thought in thoughts))
    metrics: dict[str, float] = {"count": len(thoughts), "contexts": len(contexts)}
    if len(contexts) < 2:
        return metrics
    # One context at a time keeps rows of similar length, and not all in memory.
    columns = [
        log_probs(batch_of([thought.after(context) for thought in thoughts], pad=0))
        for context in contexts
    ]
    scores = torch.stack([column.double().sum(1) for column in columns], dim=1)
    own = torch.tensor([contexts.index(thought.context) for thought in thoughts])
    tokens = torch.tensor([len(thought.ids) for thought in thoughts])
    return metrics | measure_information(scores, own, tokens)


def _end_of_tag(tag: str, response: tuple[int, ...], tokenizer: PreTrainedTokenizerBase) -> int:
    """Return the index after the token that completes a tag of the response."""
    # Decode prefixes only at tokens with the tag's last character, since each decoding is slow.
    last = tag[-1]
    ends = (end for end, token in enumerate(response, 1) if last in _decode((token,), tokenizer))
    return next(end for end in ends if tag in _decode(response[:end], tokenizer))


def _decode(ids: tuple[int, ...], tokenizer: PreTrainedTokenizerBase) -> str:
    """Return the text of tokens as the harness records it."""
    return decode_answer(tokenizer, ids)


def measure_information(scores: Tensor, own: Tensor, tokens: Tensor) -> dict[str, float]:
    """Return the information of thoughts about the contexts that they were sampled in.

    X is a context, weighted by its fraction of the thoughts, and Z a thought, whose probability is
    the product over its tokens, as in the paper's definition. The estimate of I(X; Z) is unbiased
    if the policy that scores the thoughts sampled them. It is at most H(X), which is at most the
    logarithm of the number of contexts, and may be slightly negative by chance. The paper's code
    also uses the geometric mean over tokens, which saturates later for long thoughts, but is not an
    information.

    The scores are (thoughts, contexts) log-probabilities of the thoughts after distinct contexts;
    `own` is each thought's context, of which each has a thought, and `tokens` their lengths, at
    least 1.

    In nats per thought there are `mutual_information`; `conditional_entropy`, H(Z|X); `entropy`,
    H(Z), the sum of both; `context_entropy`, H(X); and `token_mutual_information`, by the geometric
    mean. `information_share` is the fraction I(X; Z) / H(X), left out for a single context.
    `retrieval` is the fraction of thoughts that are most likely after their own context, ties
    counted in part, and `retrieval_chance` its value for thoughts independent of contexts.
    """
    exact = scores.double()
    weights = torch.bincount(own, minlength=exact.shape[1]).double() / len(own)
    matched = exact.gather(1, own[:, None]).squeeze(1)
    marginal = _marginal(exact, weights)
    by_token = exact / tokens[:, None]
    token_matched = matched / tokens
    best = (exact == exact.max(1, keepdim=True).values).double()
    hits = best.gather(1, own[:, None]).squeeze(1) / best.sum(1)
    information = float((matched - marginal).mean())
    context_entropy = -float(torch.special.xlogy(weights, weights).sum())
    return {
        "mutual_information": information,
        **({"information_share": information / context_entropy} if context_entropy > 0 else {}),
        "conditional_entropy": -float(matched.mean()),
        "entropy": -float(marginal.mean()),
        "context_entropy": context_entropy,
        "token_mutual_information": float((token_matched - _marginal(by_token, weights)).mean()),
        "retrieval": float(hits.mean()),
        "retrieval_chance": 1 / exact.shape[1],
    }


def _marginal(scores: Tensor, weights: Tensor) -> Tensor:
    return torch.logsumexp(scores + weights.log(), dim=1)
