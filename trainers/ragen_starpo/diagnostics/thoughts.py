"""Thoughts of an iteration, scored by the policy after the contexts of other thoughts (RAGEN-2).

The policy is asked for the probability of each thought after each of their contexts, by teacher
forcing; what follows from these is in `ragen_starpo.diagnostics.information`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from math import isfinite
from typing import Any

import torch
from torch import Tensor

from ragen_bench.runs.schema import EpisodeRecord
from ragen_envs.core.instances import RandomStream
from ragen_starpo.diagnostics.information import information_figures
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.rollout.trajectory import (
    Sampled,
    TokenBatch,
    TokenSequence,
    TokenTrajectory,
    Turn,
    batch_of,
)

_OPEN, _CLOSE = "<think>", "</think>"


@dataclass(frozen=True)
class Thought:
    """What a model thought in a turn, on tokens.

    Attributes:
        context: ids of all that it had read before its answer.
        opening: that it sampled before the thought, of the tag that opens it.
        ids: that it sampled of the thought, up to the one that completes the closing tag. The first
            one may hold the end of the opening tag, and the last one the beginning of what follows.
        record: of the episode.
    """

    context: tuple[int, ...]
    opening: tuple[int, ...]
    ids: tuple[int, ...]
    record: EpisodeRecord

    def after(self, context: tuple[int, ...]) -> TokenTrajectory:
        """Return the thought as an answer to a context, by its own opening."""
        sampled = Sampled(self.ids, (0.0,) * len(self.ids), stopped=True)
        turn = Turn((*context, *self.opening), sampled, 0.0)
        return TokenTrajectory(0, (turn,), self.record)


def thought_figures(
    recipe: Recipe,
    trajectories: Sequence[TokenTrajectory],
    iteration: int,
    tokenizer: Any,
    log_probs: Callable[[TokenBatch], Tensor],
) -> dict[str, float]:
    """Return what some thoughts of an iteration tell of their contexts, by `thoughts/NAME`.

    What is not finite, as of a policy whose weights are not, is left out.

    Args:
        recipe: of the run, which says how many thoughts, and has the seed that draws them.
        trajectories: in the same order whatever plays them.
        iteration: from 0 on.
        tokenizer: of the model.
        log_probs: of the policy: of the sampled tokens of a batch, 0 elsewhere.
    """
    count = recipe.diagnostics.thoughts
    thoughts = some_thoughts(trajectories, count, recipe.seed, iteration, tokenizer)
    figures = figures_of(thoughts, log_probs)
    return {f"thoughts/{name}": value for name, value in figures.items() if isfinite(value)}


def some_thoughts(
    trajectories: Sequence[TokenTrajectory], count: int, seed: int, iteration: int, tokenizer: Any
) -> list[Thought]:
    """Return thoughts of an iteration, each of another trajectory, in an order that is drawn.

    They are of as many groups as can be. A trajectory has one at most, of any of its turns: a later
    context has the earlier thoughts of its episode in it, and a model that copies would make these
    likely for no other reason.

    Args:
        trajectories: in the same order whatever plays them.
        count: the most thoughts.
        seed: of the run.
        iteration: from 0 on.
        tokenizer: of the model.
    """
    stream = RandomStream("thoughts", seed, iteration)
    chosen: list[Thought] = []
    for trajectory in _in_turn(trajectories, stream):
        turns = [
            (sequence, place)
            for sequence in trajectory.sequences
            for place in range(len(sequence.turns))
        ]
        thoughts = (
            thought_in(*turns[number], trajectory.record, tokenizer)
            for number in stream.sample(range(len(turns)), len(turns))
        )
        chosen += islice(filter(None, thoughts), 1)
        if len(chosen) == count:
            break
    return chosen


def thought_in(
    sequence: TokenSequence, place: int, record: EpisodeRecord, tokenizer: Any
) -> Thought | None:
    """Return the thought that an answer begins with, None if it has none.

    One that was never closed, as when the answer was cut, reaches to the end.

    Args:
        sequence: that the turn is in.
        place: of the turn in it, from 0 on.
        record: of the episode.
        tokenizer: of the model.
    """
    answer = sequence.turns[place].sampled.ids
    text = _text(answer, tokenizer).lstrip()
    if not text.startswith(_OPEN) or not text.removeprefix(_OPEN).partition(_CLOSE)[0].strip():
        return None
    begin, end = _begin(answer, tokenizer), _end(answer, tokenizer)
    before = chain.from_iterable(
        (*turn.observed, *turn.sampled.ids) for turn in sequence.turns[:place]
    )
    context = (*before, *sequence.turns[place].observed)
    return Thought(context, answer[:begin], answer[begin:end], record)


def figures_of(
    thoughts: Sequence[Thought], log_probs: Callable[[TokenBatch], Tensor]
) -> dict[str, float]:
    """Return what thoughts tell of their contexts.

    Equal contexts, as the prompts of rollouts of an instance, are one. A context is what was read
    before the answer, and the probability is that of the thought's tokens once its own opening tag
    is there: as in the paper's code the tag tells nothing, but here a tokenizer may also join it to
    the first word. The tag that closes it counts: without it the probabilities would be those of
    beginnings of thoughts, of which one may hold another, and not sum to 1. The policy reads as
    many sequences as there are thoughts times contexts.

    Args:
        thoughts: of an iteration.
        log_probs: of the policy: of the sampled tokens of a batch, 0 elsewhere.

    Returns:
        `count` and `contexts`, how many there are; where there are two contexts, the figures of
        `information_figures` too.
    """
    contexts = list(dict.fromkeys(thought.context for thought in thoughts))
    figures: dict[str, float] = {"count": len(thoughts), "contexts": len(contexts)}
    if len(contexts) < 2:
        return figures
    # One context at a time: rows of about one length, and never all of them in memory.
    columns = [
        log_probs(batch_of([thought.after(context) for thought in thoughts], pad=0))
        for context in contexts
    ]
    scores = torch.stack([column.double().sum(1) for column in columns], dim=1)
    own = torch.tensor([contexts.index(thought.context) for thought in thoughts])
    tokens = torch.tensor([len(thought.ids) for thought in thoughts])
    return figures | information_figures(scores, own, tokens)


def _in_turn(
    trajectories: Sequence[TokenTrajectory], stream: RandomStream
) -> Iterator[TokenTrajectory]:
    """Yield trajectories in an order that is drawn, those of all groups in turn."""
    groups: dict[int, list[TokenTrajectory]] = {}
    for number in stream.sample(range(len(trajectories)), len(trajectories)):
        groups.setdefault(trajectories[number].group, []).append(trajectories[number])
    for members in zip_longest(*groups.values()):
        yield from (member for member in members if member is not None)


def _begin(answer: tuple[int, ...], tokenizer: Any) -> int:
    """Return the first token that holds some of an answer's thought."""
    opened = _completed(_OPEN, answer, tokenizer)
    joined = _text(answer[:opened], tokenizer).partition(_OPEN)[2].strip()
    return opened - 1 if joined else opened


def _end(answer: tuple[int, ...], tokenizer: Any) -> int:
    """Return the token after the one that closes an answer's thought, or ends the answer."""
    closed = _CLOSE in _text(answer, tokenizer)
    return _completed(_CLOSE, answer, tokenizer) if closed else len(answer)


def _completed(tag: str, answer: tuple[int, ...], tokenizer: Any) -> int:
    """Return the token after the one that completes a tag, which is in the answer."""
    # That token holds the tag's last character; to read the answer up to each one would be slow.
    last = tag[-1]
    ends = (end for end, token in enumerate(answer, 1) if last in _text((token,), tokenizer))
    return next(end for end in ends if tag in _text(answer[:end], tokenizer))


def _text(ids: tuple[int, ...], tokenizer: Any) -> str:
    """Return the text of tokens as the harness records it, without those that end an answer."""
    text: str = tokenizer.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    return text
