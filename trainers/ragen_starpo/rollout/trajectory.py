"""Trajectories on tokens, and the tensors that a trainer makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import torch
from torch import Tensor

from ragen_bench.models.hf.sampling import Ending, Generation
from ragen_bench.runs.schema import EpisodeRecord
from ragen_envs.core.sums import sum_in_order

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


def sampled_of(answer: Generation, ending: Ending) -> Sampled:
    """Return an answer that the decode loop of `hf/` has ended, log-probabilities included."""
    return Sampled(tuple(answer.ids), tuple(answer.log_probs), ending.is_stopped(answer.ids))


@dataclass(frozen=True)
class Turn:
    """One turn of a trajectory.

    Attributes:
        observed: ids that the model read since its last answer: the prompt, or the observation with
            what the chat template puts around it. With a limited history, the whole prompt.
        sampled: its answer.
        reward: shaped, of this turn.
    """

    observed: tuple[int, ...]
    sampled: Sampled
    reward: float


@dataclass(frozen=True)
class TokenSequence:
    """Turns that the model reads as one sequence, in the order in which the engine saw them.

    Attributes:
        first: the number of its first turn in the trajectory, from 0 on.
        turns: none if the prompt did not fit the context.
    """

    first: int
    turns: tuple[Turn, ...]

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
    def log_probs(self) -> list[float]:
        """The engine's of each sampled token, 0 for each observed one."""
        return [
            value
            for turn in self.turns
            for value in (*(0.0 for _ in turn.observed), *turn.sampled.log_probs)
        ]

    @property
    def numbers(self) -> list[int]:
        """The turn of each token, by its number in the trajectory."""
        return [
            number
            for number, turn in enumerate(self.turns, self.first)
            for _ in (*turn.observed, *turn.sampled.ids)
        ]


@dataclass(frozen=True)
class TokenTrajectory:
    """An episode as tokens.

    Attributes:
        group: equal for rollouts of the same instance in one iteration.
        turns: at least one, unless the prompt did not fit the context.
        record: the episode as the harness records it, see `ragen_bench.runs.schema`.
        split: whether each turn is a sequence of its own, as with a limited history; else all of
            them are one.
        begun_anew: how often, since it had ended in an error.
    """

    group: int
    turns: tuple[Turn, ...]
    record: EpisodeRecord
    split: bool = False
    begun_anew: int = 0

    @property
    def sequences(self) -> tuple[TokenSequence, ...]:
        """What the model reads, at least one; its turns in their order."""
        if not self.split or not self.turns:
            return (TokenSequence(0, self.turns),)
        return tuple(TokenSequence(number, (turn,)) for number, turn in enumerate(self.turns))

    @property
    def score(self) -> float:
        """The shaped return, 0 without a turn.

        It is rounded, so that returns are equal whatever order their rewards came in.
        """
        return round(sum_in_order(turn.reward for turn in self.turns), _DECIMALS)


@dataclass(frozen=True)
class TokenBatch:
    """Sequences of trajectories side by side, padded on the right.

    Position t of `mask`, `log_probs` and whatever else is told of tokens speaks of the token t,
    given those before it.

    Attributes:
        ids: (sequences, tokens) integers.
        attention: (sequences, tokens) 1 on tokens, 0 on padding.
        mask: (sequences, tokens) 1 on sampled tokens.
        turns: (sequences, tokens) the turn of each token in its trajectory, from 0 on; the last
            token's on padding.
        log_probs: (sequences, tokens) of the engine, 0 elsewhere than on sampled tokens.
        turn_rewards: (sequences, turns) shaped, of all turns of the trajectory; 0 for turns that
            were not played.
        scores: (sequences,) shaped returns of the trajectories, in 64 bits.
        groups: (sequences,) of the trajectories.
        trajectories: (sequences,) the number of each one's trajectory. As `batch_of` makes them,
            they count from 0 on, and those of a trajectory follow each other in the order of turns.
    """

    ids: Tensor
    attention: Tensor
    mask: Tensor
    turns: Tensor
    log_probs: Tensor
    turn_rewards: Tensor
    scores: Tensor
    groups: Tensor
    trajectories: Tensor

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def count(self) -> int:
        """How many trajectories the sequences are of."""
        return len(torch.unique(self.trajectories))

    def rows_of(self, trajectories: Tensor) -> Tensor:
        """Return the indices of the sequences of some trajectories, in the order of these.

        Args:
            trajectories: their numbers, at least one.
        """
        own = [(self.trajectories == number).nonzero().flatten() for number in trajectories]
        return torch.cat(own)

    def rows(self, chosen: Tensor) -> TokenBatch:
        """Return the batch of some sequences.

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
    of = torch.tensor(
        [number for number, trajectory in enumerate(trajectories) for _ in trajectory.sequences]
    )
    rows = [row for trajectory in trajectories for row in trajectory.sequences]
    ids, numbers = [row.ids for row in rows], [row.numbers for row in rows]
    width = max(map(len, ids))
    groups = torch.tensor([trajectory.group for trajectory in trajectories], dtype=torch.int64)
    return TokenBatch(
        ids=_padded(ids, width, pad),
        attention=_padded([[1] * len(row) for row in ids], width, 0),
        mask=_padded([row.mask for row in rows], width, 0),
        turns=_padded([row + row[-1:] * (width - len(row)) for row in numbers], width, 0),
        log_probs=_padded([row.log_probs for row in rows], width, 0, torch.float32),
        turn_rewards=_turn_rewards(trajectories)[of],
        scores=scores_of(trajectories)[of],
        groups=groups[of],
        trajectories=of,
    )


def scores_of(trajectories: Sequence[TokenTrajectory]) -> Tensor:
    """Return the shaped returns, (trajectories,), in 64 bits."""
    return torch.tensor([row.score for row in trajectories], dtype=torch.float64)


def _turn_rewards(trajectories: Sequence[TokenTrajectory]) -> Tensor:
    """Return the shaped rewards, (trajectories, turns); 0 for turns that were not played."""
    longest = max(len(trajectory.turns) for trajectory in trajectories)
    rows = [
        [turn.reward for turn in trajectory.turns] + [0.0] * (longest - len(trajectory.turns))
        for trajectory in trajectories
    ]
    return torch.tensor(rows, dtype=torch.float32)


def _padded(
    rows: Sequence[Sequence[float]], width: int, value: int, kind: torch.dtype = torch.int64
) -> Tensor:
    padded = [[*row, *[value] * (width - len(row))] for row in rows]
    return torch.tensor(padded, dtype=kind)
