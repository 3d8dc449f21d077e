"""Converts token batches to verl's unpadded rows, and outputs back.

verl's output at position t is about token t + 1; here, position t is about token t.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

import torch
from tensordict import NonTensorData, TensorDict
from torch import Tensor
from torch.nn import functional

from ragen_starpo.engine.computing import PLAIN, Computing
from ragen_starpo.rollout.trajectory import TokenBatch

COLUMN = "column:"
"""Prefix of the fields that are columns."""


def micro_batches(rows: int, largest: int) -> tuple[int, int]:
    """Return the size of micro-batches, and the number of fillers in the last one.

    verl requires equal sizes. The number of micro-batches is minimal, then their size, so there
    are fewer fillers than micro-batches.
    """
    count = ceil(rows / largest)
    size = ceil(rows / count)
    return size, count * size - rows


@dataclass(frozen=True)
class Limit:
    """The limit of a micro-batch: tokens of packed rows or, if that is None, rows."""

    rows: int
    tokens: int | None = None

    def division(self, size: int) -> dict[str, bool | int]:
        """Return verl's settings of micro-batches.

        With a token limit, verl groups rows by length into the fewest micro-batches of
        about equal work. Otherwise each has `size` rows.
        """
        if self.tokens is None:
            return {"use_dynamic_bsz": False, "micro_batch_size_per_gpu": size}
        return {"use_dynamic_bsz": True, "max_token_len_per_gpu": self.tokens}


def limit_of(rows: int, computing: Computing, longest: int) -> Limit:
    """Return the limit of micro-batches that keeps memory within the recipe's settings.

    Padded rows are counted as if all were the longest. The limit of packed rows is never below
    the longest one's tokens, since verl has one limit for all micro-batches.
    """
    if computing.tokens is None:
        return Limit(rows)
    if computing.packing:
        return Limit(rows, max(computing.tokens, longest))
    return Limit(max(1, computing.tokens // longest))


def to_verl(
    batch: TokenBatch,
    columns: Mapping[str, Tensor],
    largest: int,
    temperature: float,
    computing: Computing = PLAIN,
    longest: int = 0,
) -> TensorDict:
    """Return a batch for verl's worker, with micro-batches of at most `largest` rows.

    A filler has one token, which is not sampled. A token limit in `computing` replaces
    `largest`. `longest` has the tokens of the longest row over all processes, which must
    compute equally many micro-batches; 0 for one process.
    """
    lengths = batch.attention.sum(1).clamp(min=1).tolist()
    limit = limit_of(largest, computing, max(longest, *lengths))
    size, extra = micro_batches(len(batch), limit.rows if limit.tokens is None else len(batch))
    lengths += [1] * extra
    ids = functional.pad(batch.ids, (0, 0, 0, extra))
    # verl splits columns with the rows. The values on fillers are never read.
    tensors = {
        COLUMN + name: torch.cat([column, column.new_zeros((extra, *column.shape[1:]))])
        for name, column in {"mask": batch.mask, **columns}.items()
    }
    return TensorDict(
        {
            "input_ids": _make_jagged([row[:end] for row, end in zip(ids, lengths, strict=True)]),
            "position_ids": _make_jagged([torch.arange(end) for end in lengths]),
            "loss_mask": tensors[COLUMN + "mask"],
            "real": torch.arange(len(ids)) < len(batch),
            **tensors,
            "temperature": NonTensorData(temperature),
            **{name: NonTensorData(value) for name, value in limit.division(size).items()},
        },
        batch_size=[len(ids)],
    )


def align_rows(output: Tensor, rows: TensorDict) -> Tensor:
    """Return verl's jagged output as (rows, tokens) of `to_verl`, 0 except on sampled tokens."""
    mask = rows[COLUMN + "mask"]
    return align_output(output, mask.shape[1]).where(mask.bool(), 0.0)[rows["real"]]


def align_output(output: Tensor, width: int) -> Tensor:
    """Return verl's jagged output as (rows, width), where position t is about token t.

    verl's output at a row's last token is about a token that does not exist; it lands on padding or
    is cut off.
    """
    lengths = output.offsets().diff()  # type: ignore[attr-defined]
    inside = torch.arange(width, device=lengths.device) < lengths[:, None]
    values = output.values()
    padded = values.new_zeros(inside.shape).masked_scatter(inside, values)
    return functional.pad(padded[:, :-1], (1, 0))


def _make_jagged(rows: list[Tensor]) -> Tensor:
    return torch.nested.as_nested_tensor(rows, layout=torch.jagged)
