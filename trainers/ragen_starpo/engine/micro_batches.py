"""Micro-batches of a token batch: rows of similar length, cut after the last sampled token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import torch
from torch import Tensor

from ragen_starpo.rollout.trajectory import TokenBatch


@dataclass(frozen=True)
class MicroBatch:
    """Rows that a model reads at once, padded on the right.

    `ids` are (rows, tokens). A causal model needs no mask: no sampled token attends to padding.
    `places` are positions of sampled tokens in the flattened `ids`, and `labels` those tokens,
    (sampled,). `columns` have the rows' entries, with `tokens` columns where the batch has one
    per token, and include `mask`.
    """

    rows: Tensor
    ids: Tensor
    places: Tensor
    labels: Tensor
    columns: Mapping[str, Tensor]

    def spread(self, values: Tensor) -> Tensor:
        """Return (sampled,) values as (rows, tokens), 0 elsewhere."""
        flat = values.new_zeros(self.ids.numel()).index_put((self.places,), values)
        return flat.view(self.ids.shape)


def make_micro_batches(
    batch: TokenBatch,
    columns: Mapping[str, Tensor],
    largest: int,
    tokens: int | None,
    device: torch.device,
) -> list[MicroBatch]:
    """Return micro-batches of all rows with a sampled token, on a device.

    They have at most `largest` rows or, if `tokens` is set, at most so many tokens with padding,
    but at least one row.
    """
    check_batch(batch, columns)
    inside = torch.arange(1, batch.mask.shape[1] + 1)
    lengths = (batch.mask * inside).amax(1)
    order = torch.argsort(lengths, stable=True)
    order = order[lengths[order] > 0]
    all_columns = {"mask": batch.mask, **columns}
    made = []
    for part in _divide(lengths[order].tolist(), largest, tokens):
        rows = order[part]
        width = int(lengths[rows].max())
        ids = batch.ids[rows, :width]
        places = batch.mask[rows, :width].flatten().nonzero()[:, 0]
        made.append(
            MicroBatch(
                rows,
                ids.to(device),
                places.to(device),
                ids.flatten()[places].to(device),
                {
                    name: (
                        column[rows, :width]
                        if column.shape[:2] == batch.mask.shape
                        else column[rows]
                    ).to(device)
                    for name, column in all_columns.items()
                },
            )
        )
    return made


def check_batch(batch: TokenBatch, columns: Mapping[str, Tensor]) -> None:
    """Raise ValueError if a batch cannot be trained on with its columns."""
    if not len(batch) or not batch.mask.any():
        raise ValueError("the batch has no sampled token")
    if batch.mask[:, 0].any():
        raise ValueError("a sampled token is the first of its sequence; nothing predicts it")
    for name, column in columns.items():
        if len(column) != len(batch):
            raise ValueError(f"{name} has {len(column)} rows, the batch has {len(batch)}")


def _divide(lengths: Sequence[int], largest: int, tokens: int | None) -> list[slice]:
    if tokens is None:
        size = ceil(len(lengths) / ceil(len(lengths) / largest))
        return [slice(start, start + size) for start in range(0, len(lengths), size)]
    parts, end = [], len(lengths)
    while end:
        start = max(0, end - max(1, tokens // lengths[end - 1]))
        parts.append(slice(start, end))
        end = start
    return parts[::-1]
