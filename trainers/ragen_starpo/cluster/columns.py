"""Conversion of columns between token batches and verl's rows of responses without padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from tensordict import TensorDict
from torch import Tensor

from ragen_starpo.engine.rows import Limit, micro_batches
from ragen_starpo.rollout.trajectory import TokenBatch, TokenTrajectory


@dataclass(frozen=True)
class Responses:
    """Where the responses of rows stand, which are sequences: the tokens after the first prompt.

    Attributes:
        spans: of each row, the first token of its response and the one after the last.
    """

    spans: tuple[tuple[int, int], ...]

    def rows(self, columns: Mapping[str, Tensor], fillers: int) -> TensorDict:
        """Return columns as verl has them, with 0 for rows that fill up a batch.

        Args:
            columns: (sequences, tokens), aligned as `TokenBatch` says.
            fillers: rows of one response token that follow.
        """
        return TensorDict(
            {name: self._jagged(column, fillers) for name, column in columns.items()},
            batch_size=[len(self.spans) + fillers],
        )

    def column(self, outputs: Tensor, batch: TokenBatch) -> Tensor:
        """Return what an engine says of each token as (sequences, tokens).

        Args:
            outputs: jagged over whole rows, which may be followed by fillers; at position t it
                speaks of the token t + 1, given those up to t.
            batch: the sequences; the result is 0 but on their sampled tokens.
        """
        column = torch.zeros(batch.mask.shape)
        for row, (output, (start, end)) in enumerate(
            zip(outputs.unbind(), self.spans, strict=False)
        ):
            column[row, start:end] = output[start - 1 : end - 1].float()
        return column.where(batch.mask.bool(), 0.0)

    def _jagged(self, column: Tensor, fillers: int) -> Tensor:
        rows = [column[row, start:end] for row, (start, end) in enumerate(self.spans)]
        return torch.nested.as_nested_tensor(
            [*rows, *[column.new_zeros(1)] * fillers], layout=torch.jagged
        )


def responses_of(trajectories: Sequence[TokenTrajectory]) -> Responses:
    """Return where the responses of trajectories stand, by their sequences; each has a turn."""
    rows = [row for trajectory in trajectories for row in trajectory.sequences]
    return Responses(tuple((len(row.turns[0].observed), len(row.ids)) for row in rows))


def filled_up(rows: int, ranks: int, limit: Limit) -> tuple[int, int]:
    """Return the size of micro-batches, and how many rows fill up the last ones.

    Each rank gets as many rows, in micro-batches of one size; there are as few as possible.

    Args:
        rows: at least 1.
        ranks: processes that train.
        limit: of a micro-batch; by tokens it is one of all rows of a rank, which verl divides.
    """
    per_rank = -(-rows // ranks)
    size, extra = micro_batches(per_rank, limit.rows if limit.tokens is None else per_rank)
    return size, ranks * (per_rank + extra) - rows
