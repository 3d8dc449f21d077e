"""Trajectories on tokens, and the tensors that a trainer makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor

from ragen_bench.models.hf_sampling import Answer, Ending
from ragen_bench.runs.schema import EpisodeRecord

_DECIMALS = 6
"""Of a return: far fewer than rounding takes, far more than rewards have."""


@dataclass(frozen=True)
class Sampled:
    """What an engine sampled for one turn.

    Attributes:
        ids: of the tokens, the one that ended the turn included.
        log_probs: of each under the distribution that it was drawn from, temperature included.
        stopped: whether the answer ended by itself; else the limit of tokens cut it.
    """

    ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    stopped: bool

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.log_probs):
            raise ValueError(f"{len(self.ids)} tokens have {len(self.log_probs)} log-probabilities")


def sampled_of(answer: Answer, ending: Ending) -> Sampled:
    """Return an answer that the decode loop of `hf/` has ended, log-probabilities included."""
    return Sampled(tuple(answer.ids), tuple(answer.log_probs), ending.stopped(answer.ids))


@dataclass(frozen=True)
class Turn:
    """One turn of a trajectory.

    Attributes:
        observed: ids that the model read since its last answer: the prompt, or the observation with
            what the chat template puts around it.
        sampled: its answer.
        reward: shaped, of this turn.
    """

    observed: tuple[int, ...]
    sampled: Sampled
    reward: float


@dataclass(frozen=True)
class TokenTrajectory:
    """An episode as tokens, in the order in which the engine saw them.

    Attributes:
        group: equal for rollouts of the same instance in one iteration.
        turns: at least one, unless the prompt did not fit the context.
        record: the episode as the harness records it, see `ragen_bench.runs.schema`.
    """

    group: int
    turns: tuple[Turn, ...]
    record: EpisodeRecord

    @property
    def ids(self) -> list[int]:
        """All tokens, observed and sampled."""
        return list(chain.from_iterable((*turn.observed, *turn.sampled.ids) for turn in self.turns))

    @property
    def mask(self) -> list[int]:
        """1 for each sampled token, 0 for each observed one."""
        return [
            kind
            for turn in self.turns
            for kind in (*(0 for _ in turn.observed), *(1 for _ in turn.sampled.ids))
        ]

    @property
    def score(self) -> float:
        """The shaped return, 0 without a turn.

        It is rounded, so that returns are equal whatever order their rewards came in.
        """
        return round(sum((turn.reward for turn in self.turns), 0.0), _DECIMALS)


@dataclass(frozen=True)
class TokenBatch:
    """Trajectories side by side, padded on the right.

    Position t of `mask`, `log_probs` and whatever else is told of tokens speaks of the token t,
    given those before it.

    Attributes:
        ids: (trajectories, tokens) integers.
        attention: (trajectories, tokens) 1 on tokens, 0 on padding.
        mask: (trajectories, tokens) 1 on sampled tokens.
        turns: (trajectories, tokens) the turn of each token, from 0 on; the last one's on padding.
        log_probs: (trajectories, tokens) of the engine, 0 elsewhere than on sampled tokens.
        turn_rewards: (trajectories, turns) shaped; 0 for turns that were not played.
        scores: (trajectories,) shaped returns, in 64 bits.
        groups: (trajectories,).
    """

    ids: Tensor
    attention: Tensor
    mask: Tensor
    turns: Tensor
    log_probs: Tensor
    turn_rewards: Tensor
    scores: Tensor
    groups: Tensor

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, chosen: Tensor) -> TokenBatch:
        """Return the batch of some trajectories.

        Args:
            chosen: indices, or True for those chosen.
        """
        return TokenBatch(**{name: tensor[chosen] for name, tensor in vars(self).items()})


def batch_of(trajectories: Sequence[TokenTrajectory], pad: int) -> TokenBatch:
    """Return trajectories as tensors.

    Args:
        trajectories: at least one.
        pad: the id on padding.
    """
    width = max(len(row.ids) for row in trajectories)
    longest = max(len(row.turns) for row in trajectories)
    return TokenBatch(
        ids=_padded([row.ids for row in trajectories], width, pad),
        attention=_padded([[1] * len(row.ids) for row in trajectories], width, 0),
        mask=_padded([row.mask for row in trajectories], width, 0),
        turns=torch.stack([_turns(row, width) for row in trajectories]),
        log_probs=torch.stack([_log_probs(row, width) for row in trajectories]),
        turn_rewards=torch.tensor(
            [
                [turn.reward for turn in row.turns] + [0.0] * (longest - len(row.turns))
                for row in trajectories
            ],
            dtype=torch.float32,
        ),
        scores=scores_of(trajectories),
        groups=torch.tensor([row.group for row in trajectories], dtype=torch.int64),
    )


def scores_of(trajectories: Sequence[TokenTrajectory]) -> Tensor:
    """Return the shaped returns, (trajectories,), in 64 bits."""
    return torch.tensor([row.score for row in trajectories], dtype=torch.float64)


def _padded(rows: list[list[int]], width: int, value: int) -> Tensor:
    padded = [row + [value] * (width - len(row)) for row in rows]
    return torch.tensor(padded, dtype=torch.int64)


def _turns(trajectory: TokenTrajectory, width: int) -> Tensor:
    numbers = torch.full((width,), max(0, len(trajectory.turns) - 1))
    start = 0
    for number, turn in enumerate(trajectory.turns):
        end = start + len(turn.observed) + len(turn.sampled.ids)
        numbers[start:end] = number
        start = end
    return numbers


def _log_probs(trajectory: TokenTrajectory, width: int) -> Tensor:
    column = torch.zeros(width)
    start = 0
    for turn in trajectory.turns:
        start += len(turn.observed)
        end = start + len(turn.sampled.ids)
        column[start:end] = torch.tensor(turn.sampled.log_probs)
        start = end
    return column
