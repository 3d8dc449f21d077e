"""Converts our batches to verl's, which are unpadded and speak of the token that follows."""

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

_COLUMN = "column:"


@dataclass(frozen=True)
class Rows:
    """The rows of a micro-batch, without those that only fill it up.

    Attributes:
        real: (rows of verl,) which of verl's rows they are.
        mask: (rows, tokens) 1 on sampled tokens.
        columns: what belongs to the rows, `mask` included.
    """

    real: Tensor
    mask: Tensor
    columns: Mapping[str, Tensor]

    def aligned(self, output: Tensor) -> Tensor:
        """Return what verl computed of each token as (rows, tokens), 0 but on sampled tokens.

        Args:
            output: jagged; at position t it speaks of the token t + 1, given those up to t.
        """
        return aligned(output, self.mask.shape[1])[self.real].where(self.mask.bool(), 0.0)


def check(batch: TokenBatch) -> None:
    """Check that a batch can be worked on.

    Raises:
        ValueError: if it has no row, no sampled token, or a sampled token with nothing before it.
    """
    if not len(batch) or not batch.mask.any():
        raise ValueError("the batch has no sampled token")
    if batch.mask[:, 0].any():
        raise ValueError("a sampled token is the first of its sequence; nothing predicts it")


def check_columns(batch: TokenBatch, columns: Mapping[str, Tensor]) -> None:
    """Check that columns belong to a batch.

    Raises:
        ValueError: if one has another number of rows.
    """
    for name, column in columns.items():
        if len(column) != len(batch):
            raise ValueError(f"{name} has {len(column)} rows, the batch has {len(batch)}")


def by_length(batch: TokenBatch) -> Tensor:
    """Return the rows from the shortest on, so that micro-batches have little padding."""
    return torch.argsort(batch.attention.sum(1), stable=True)


def micro_batches(rows: int, largest: int) -> tuple[int, int]:
    """Return the size of micro-batches, and how many rows fill up the last one.

    verl wants equal sizes. There are as few micro-batches as `largest` allows, all as small as
    that permits, so fewer rows are filled up than there are micro-batches.

    Args:
        rows: at least 1.
        largest: rows that a micro-batch may have, at least 1.
    """
    count = ceil(rows / largest)
    size = ceil(rows / count)
    return size, count * size - rows


@dataclass(frozen=True)
class Limit:
    """What a micro-batch may have.

    Attributes:
        rows: the most, where they are counted.
        tokens: the most, of rows that are packed; None to count rows.
    """

    rows: int
    tokens: int | None = None

    def division(self, size: int) -> dict[str, bool | int]:
        """Return verl's settings of micro-batches.

        By tokens it puts rows together by their lengths, in as few micro-batches of about equal
        work as that allows.

        Args:
            size: of micro-batches by rows.
        """
        if self.tokens is None:
            return {"use_dynamic_bsz": False, "micro_batch_size_per_gpu": size}
        return {"use_dynamic_bsz": True, "max_token_len_per_gpu": self.tokens}


def limit_of(rows: int, computing: Computing, longest: int) -> Limit:
    """Return the limit of micro-batches, so that memory is what the recipe says.

    Args:
        rows: that the recipe allows.
        computing: of the model. Padded rows are as many as would fit if all were the longest.
        longest: the tokens of the longest row. Packed rows may have as many together, since verl
            has one limit for all micro-batches.
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

    A row that fills up the last micro-batch has one token and no sampled one.

    Args:
        batch: see `check`.
        columns: of as many rows as the batch.
        largest: rows of a micro-batch.
        temperature: by which logits are divided.
        computing: may have micro-batches of so many tokens instead.
        longest: the tokens of the longest row of another process, where there are several: all have
            to compute as many micro-batches.
    """
    lengths = batch.attention.sum(1).clamp(min=1).tolist()
    limit = limit_of(largest, computing, max(longest, *lengths))
    size, extra = micro_batches(len(batch), limit.rows if limit.tokens is None else len(batch))
    lengths += [1] * extra
    ids = functional.pad(batch.ids, (0, 0, 0, extra))
    # Every real column, so that verl splits it with the rows; an extra row of it is never read.
    carried = {"mask": batch.mask, **columns}
    tensors = {_COLUMN + name: _extended(column, extra) for name, column in carried.items()}
    return TensorDict(
        {
            "input_ids": _jagged([row[:end] for row, end in zip(ids, lengths, strict=True)]),
            "position_ids": _jagged([torch.arange(end) for end in lengths]),
            "loss_mask": tensors[_COLUMN + "mask"],
            "real": torch.arange(len(ids)) < len(batch),
            **tensors,
            "temperature": NonTensorData(temperature),
            "calculate_entropy": NonTensorData(True),
            **{name: NonTensorData(value) for name, value in limit.division(size).items()},
        },
        batch_size=[len(ids)],
    )


def rows_of(micro_batch: TensorDict) -> Rows:
    """Return the rows of one of verl's micro-batches, on its device."""
    real = micro_batch["real"]
    columns = {
        name.removeprefix(_COLUMN): micro_batch[name][real]
        for name in map(str, micro_batch.keys())
        if name.startswith(_COLUMN)
    }
    return Rows(real, columns["mask"], columns)


def aligned(output: Tensor, width: int) -> Tensor:
    """Return verl's jagged output as (rows, width), where position t speaks of the token t.

    What verl says after a row's last token, of a token that is not there, lies on padding or is
    left out.
    """
    lengths = output.offsets().diff()  # type: ignore[attr-defined]
    inside = torch.arange(width, device=lengths.device) < lengths[:, None]
    values = output.values()
    padded = values.new_zeros(inside.shape).masked_scatter(inside, values)
    return functional.pad(padded[:, :-1], (1, 0))


def _jagged(rows: list[Tensor]) -> Tensor:
    return torch.nested.as_nested_tensor(rows, layout=torch.jagged)


def _extended(column: Tensor, extra: int) -> Tensor:
    return torch.cat([column, column.new_zeros((extra, *column.shape[1:]))])
