"""Converts columns of token batches to verl's unpadded responses, and back."""

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
    """Start and exclusive end of each row's response, the tokens after the first prompt."""

    spans: tuple[tuple[int, int], ...]

    def rows(self, columns: Mapping[str, Tensor], fillers: int) -> TensorDict:
        """Return (sequences, tokens) columns as jagged responses, then fillers with one 0 each."""
        jagged = {}
        for name, column in columns.items():
            rows = [column[row, start:end] for row, (start, end) in enumerate(self.spans)]
            rows += [column.new_zeros(1)] * fillers
            jagged[name] = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
        return TensorDict(jagged, batch_size=[len(self.spans) + fillers])

    def column(self, outputs: Tensor, batch: TokenBatch) -> Tensor:
        """Return an engine's outputs as (sequences, tokens), 0 except on sampled tokens.

        They are jagged over whole rows, possibly followed by fillers; position t is about
        token t + 1.
        """
        column = torch.zeros(batch.mask.shape)
        for row, (output, (start, end)) in enumerate(
            zip(outputs.unbind(), self.spans, strict=False)
        ):
            column[row, start:end] = output[start - 1 : end - 1].float()
        return column.where(batch.mask.bool(), 0.0)


def responses_of(trajectories: Sequence[TokenTrajectory]) -> Responses:
    """Return the responses of trajectories; each sequence must have a turn."""
    rows = [row for trajectory in trajectories for row in trajectory.sequences]
    return Responses(tuple((len(row.turns[0].observed), len(row.ids)) for row in rows))


def divide_rows(rows: int, ranks: int, limit: Limit) -> tuple[int, int]:
    """Return the size of micro-batches, and the number of fillers.

    All ranks get equally many rows, in the fewest micro-batches of equal size. With a token
    limit, a rank's rows are one micro-batch, which verl divides.
    """
    per_rank = -(-rows // ranks)
    size, extra = micro_batches(per_rank, limit.rows if limit.tokens is None else per_rank)
    return size, ranks * (per_rank + extra) - rows
