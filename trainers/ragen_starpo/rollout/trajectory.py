"""Trajectories on tokens, and their tensors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

import torch
from torch import Tensor

from ragen_bench.models.hf.sampling import Ending, Generation
from ragen_bench.runs.schema import EpisodeRecord
from ragen_envs.core.sums import sum_in_order

T = TypeVar("T", int, float)
_DECIMALS = 6
"""Decimals of a return: coarser than rounding errors, finer than rewards."""


@dataclass(frozen=True)
class Sampled:
    """The tokens that an engine sampled for one turn, including the one that ended it.

    Log-probabilities are those of the distribution that was drawn from, temperature included.
    `stopped` is False if the limit of tokens cut the response.
    """

    ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    stopped: bool

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.log_probs):
            raise ValueError(f"{len(self.ids)} tokens have {len(self.log_probs)} log-probabilities")


def sampled_of(answer: Generation, ending: Ending) -> Sampled:
    """Return a finished response of the decode loop, with log-probabilities."""
    return Sampled(tuple(answer.ids), tuple(answer.log_probs), ending.is_stopped(answer.ids))


@dataclass(frozen=True)
class Turn:
    """One turn of a trajectory, with its shaped reward.

    `observed` are the ids since the last response: the prompt, or the observation with the text
    of the chat template around it. With a limited history, the whole prompt. `state` is the
    environment's before the response; None unless the estimator compares states. `is_void` is True
    for a turn without a valid action.
    """

    observed: tuple[int, ...]
    sampled: Sampled
    reward: float
    state: Hashable = None
    is_void: bool = False


@dataclass(frozen=True)
class TokenSequence:
    """Turns, from number `first` on, that are read as one sequence; none if no prompt fits."""

    first: int
    turns: tuple[Turn, ...]

    @property
    def ids(self) -> list[int]:
        """All tokens, observed and sampled."""
        return list(chain.from_iterable((*turn.observed, *turn.sampled.ids) for turn in self.turns))

    @property
    def mask(self) -> list[int]:
        """1 for each sampled token, 0 for each observed one."""
        return self._column(0, lambda sampled: [1] * len(sampled.ids))

    @property
    def log_probs(self) -> list[float]:
        """The engine's log-probability of each sampled token, 0 for each observed one."""
        return self._column(0.0, lambda sampled: sampled.log_probs)

    @property
    def cut(self) -> list[int]:
        """1 for each token of a response that the limit of tokens cut, 0 for all others."""
        return self._column(0, lambda sampled: [int(not sampled.stopped)] * len(sampled.ids))

    def _column(self, observed: T, of: Callable[[Sampled], Sequence[T]]) -> list[T]:
        column: list[T] = []
        for turn in self.turns:
            column += [observed] * len(turn.observed)
            column += of(turn.sampled)
        return column

    @property
    def numbers(self) -> list[int]:
        """Number of each token's turn in the trajectory."""
        return [
            number
            for number, turn in enumerate(self.turns, self.first)
            for _ in (*turn.observed, *turn.sampled.ids)
        ]


@dataclass(frozen=True)
class TokenTrajectory:
    """An episode as tokens; it has at least one turn unless the prompt did not fit the context.

    `group` is the number of the instance in the iteration. With `split`, each turn is a
    separate sequence, as with a limited history. `begun_anew` counts restarts after an error.
    `weight` is a factor of its advantages.
    """

    group: int
    turns: tuple[Turn, ...]
    record: EpisodeRecord
    split: bool = False
    begun_anew: int = 0
    weight: float = 1.0

    @property
    def is_void(self) -> bool:
        """Whether a turn has no valid action."""
        return any(turn.is_void for turn in self.turns)

    @property
    def sequences(self) -> tuple[TokenSequence, ...]:
        """The model's sequences, at least one, with turns in order."""
        if not self.split or not self.turns:
            return (TokenSequence(0, self.turns),)
        return tuple(TokenSequence(number, (turn,)) for number, turn in enumerate(self.turns))

    @property
    def score(self) -> float:
        """The shaped return, 0 without a turn; rounded, so that rewards may be in any order."""
        return round(sum_in_order(turn.reward for turn in self.turns), _DECIMALS)


@dataclass(frozen=True)
class TokenBatch:
    """Sequences of trajectories, padded on the right.

    Position t of `mask`, `log_probs` and other columns describes token t, given those before it.

    Attributes:
        ids: (sequences, tokens) integers.
        attention: (sequences, tokens) 1 on tokens, 0 on padding.
        mask: (sequences, tokens) 1 on sampled tokens.
        turns: (sequences, tokens) number of each token's turn in its trajectory, from 0; on padding
            that of the last token.
        log_probs: (sequences, tokens) of the engine, 0 where the mask is 0.
        cut: (sequences, tokens) 1 on the tokens of responses that the limit of tokens cut.
        void: (sequences,) 1 for trajectories with a turn without a valid action.
        weights: (sequences,) factors of the trajectories' advantages.
        turn_rewards: (sequences, turns) shaped rewards of all turns of the trajectory; 0 after its
            last turn.
        states: (sequences, turns) number of the state that each turn of the trajectory began in,
            equal for equal states of a group alone; -1 after its last turn.
        scores: (sequences,) shaped returns of the trajectories, in 64 bits.
        groups: (sequences,) groups of the trajectories.
        trajectories: (sequences,) number of each sequence's trajectory. `batch_of` counts them from
            0, with the sequences of a trajectory adjacent and in order.
    """

    ids: Tensor
    attention: Tensor
    mask: Tensor
    turns: Tensor
    log_probs: Tensor
    cut: Tensor
    void: Tensor
    weights: Tensor
    turn_rewards: Tensor
    states: Tensor
    scores: Tensor
    groups: Tensor
    trajectories: Tensor

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def count(self) -> int:
        """Number of trajectories."""
        return len(torch.unique(self.trajectories))

    def rows_of(self, trajectories: Tensor) -> Tensor:
        """Return the indices of the sequences of trajectories, in the order of these."""
        own = [(self.trajectories == number).nonzero().flatten() for number in trajectories]
        return torch.cat(own)

    def rows(self, chosen: Tensor) -> TokenBatch:
        """Return the batch of some sequences, given their indices or a boolean mask."""
        return TokenBatch(**{name: tensor[chosen] for name, tensor in vars(self).items()})


def batch_of(trajectories: Sequence[TokenTrajectory], pad: int) -> TokenBatch:
    """Return trajectories, at least one, as tensors; `pad` is the id on padding."""
    of = torch.tensor(
        [number for number, trajectory in enumerate(trajectories) for _ in trajectory.sequences]
    )
    rows = [row for trajectory in trajectories for row in trajectory.sequences]
    ids, numbers = [row.ids for row in rows], [row.numbers for row in rows]
    width = max(map(len, ids))
    longest = max(len(trajectory.turns) for trajectory in trajectories)
    turn_rewards = [
        [turn.reward for turn in trajectory.turns] + [0.0] * (longest - len(trajectory.turns))
        for trajectory in trajectories
    ]
    known: dict[Hashable, int] = {}
    states = [
        [known.setdefault((trajectory.group, turn.state), len(known)) for turn in turns]
        + [-1] * (longest - len(turns))
        for trajectory in trajectories
        for turns in [trajectory.turns]
    ]
    groups = torch.tensor([trajectory.group for trajectory in trajectories], dtype=torch.int64)
    return TokenBatch(
        ids=_pad_rows(ids, width, pad),
        attention=_pad_rows([[1] * len(row) for row in ids], width, 0),
        mask=_pad_rows([row.mask for row in rows], width, 0),
        turns=_pad_rows([row + row[-1:] * (width - len(row)) for row in numbers], width, 0),
        log_probs=_pad_rows([row.log_probs for row in rows], width, 0, torch.float32),
        cut=_pad_rows([row.cut for row in rows], width, 0),
        void=torch.tensor([int(trajectory.is_void) for trajectory in trajectories])[of],
        weights=torch.tensor([trajectory.weight for trajectory in trajectories])[of],
        turn_rewards=torch.tensor(turn_rewards, dtype=torch.float32)[of],
        states=torch.tensor(states, dtype=torch.int64)[of],
        scores=scores_of(trajectories)[of],
        groups=groups[of],
        trajectories=of,
    )


def scores_of(trajectories: Sequence[TokenTrajectory]) -> Tensor:
    """Return the shaped returns, (trajectories,), in 64 bits."""
    return torch.tensor([row.score for row in trajectories], dtype=torch.float64)


def _pad_rows(
    rows: Sequence[Sequence[float]], width: int, value: int, kind: torch.dtype = torch.int64
) -> Tensor:
    padded = [[*row, *[value] * (width - len(row))] for row in rows]
    return torch.tensor(padded, dtype=kind)
