"""Keys and values of many conversations, one row each, and the attention over them.

A forward pass reads one packed sequence without padding: the new tokens of every conversation,
which are a whole prompt or a single token. The attention writes their keys and values into the
rows, and lets each token attend to its own row up to itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AttentionInterface, PreTrainedModel

ATTENTION = "ragen_rows"
"""The name of this attention among those of transformers."""
_COLUMN_STEP = 256
"""Rows grow by this many columns at once, since growing copies them."""
_UNSUPPORTED = ("softcap", "s_aux", "sliding_window", "position_bias")
"""Options of attention that some models use and this one does not implement."""


class RowCache:
    """The keys and values of all layers, with one row per conversation."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self.columns = 0  # of a row, as soon as each layer is written
        self._layers: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def grow(self, rows: int) -> None:
        """Grow to at least `rows` rows, keeping their contents."""
        added = rows - self._rows
        if added <= 0:
            return
        self._rows = rows
        for number, (keys, values) in self._layers.items():
            self._layers[number] = (
                torch.cat([keys, keys.new_zeros(added, *keys.shape[1:])]),
                torch.cat([values, values.new_zeros(added, *values.shape[1:])]),
            )

    def copy(self, source: int, target: int, columns: int) -> None:
        """Copy the first columns of one row to another."""
        for layer in self._layers.values():
            for cached in layer:
                cached[target, :, :columns] = cached[source, :, :columns]

    def write(
        self, layer: int, new: tuple[torch.Tensor, torch.Tensor], step: Step
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the keys and values of new tokens, each [1, heads, tokens, size], into their rows.

        Return all keys and all values of the layer, each [rows, heads, columns, size].
        """
        cached = self._layers.get(layer)
        if cached is None or cached[0].shape[2] < self.columns:
            # Zeros, as attention multiplies masked values by 0, and uninitialised ones may be NaN.
            keys, values = (
                part.new_zeros(self._rows, part.shape[1], self.columns, part.shape[3])
                for part in new
            )
            if cached is not None:
                width = cached[0].shape[2]
                keys[:, :, :width], values[:, :, :width] = cached
            cached = self._layers[layer] = keys, values
        for whole, part in zip(cached, new, strict=True):
            whole[step.rows, :, step.columns] = part[0].transpose(0, 1)
        return cached


@dataclass(frozen=True)
class Prompts:
    """The new tokens before the last one, of rows with equal numbers of cached and new tokens.

    `places` are positions in the packed sequence, row by row, [rows * tokens]. For a single
    row, `rows` and `places` are slices, which avoids a copy. `seen` is whether a token attends
    to a column of its row, [tokens, columns].
    """

    rows: slice | torch.Tensor
    places: slice | torch.Tensor
    seen: torch.Tensor


@dataclass(frozen=True)
class Step:
    """One forward pass over rows 0 to n - 1.

    The packed sequence has the prompts first, then the last token of every row in order. `ids`
    are its token ids, [1, tokens]; `rows` and `columns` have the row of each token and its
    column there, which is its position, [tokens]. `seen` is whether a row's last token attends
    to a column, [n, 1, 1, columns].
    """

    cache: RowCache
    ids: torch.Tensor
    rows: torch.Tensor
    columns: torch.Tensor
    prompts: Sequence[Prompts]
    seen: torch.Tensor


def make_step(
    cache: RowCache,
    lengths: Sequence[int],
    new: Sequence[Sequence[int]],
    device: torch.device | str,
) -> Step:
    """Return the pass that reads the new tokens of rows 0 to n - 1, at least one of each row.

    `lengths` are the numbers of cached tokens of each row.
    """
    groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
    packed: list[tuple[int, int, int]] = []
    for row, (before, tokens) in enumerate(zip(lengths, new, strict=True)):
        if count := len(tokens) - 1:
            groups.setdefault((before, count), []).append((row, len(packed)))
        packed += [(token, row, before + i) for i, token in enumerate(tokens[:-1])]
    prompts = [_make_prompts(*shape, places, device) for shape, places in groups.items()]
    ends = [before + len(tokens) for before, tokens in zip(lengths, new, strict=True)]
    packed += [(new[row][-1], row, end - 1) for row, end in enumerate(ends)]
    cache.columns = max(cache.columns, -(-max(ends) // _COLUMN_STEP) * _COLUMN_STEP)
    ids, rows, columns = torch.tensor(packed, device=device).T.contiguous()
    places = torch.arange(max(ends), device=device)
    seen = places <= columns[-len(ends) :, None, None, None]
    return Step(cache, ids[None], rows, columns, prompts, seen)


def _make_prompts(
    before: int, count: int, places: Sequence[tuple[int, int]], device: torch.device | str
) -> Prompts:
    """Return the prompts of one shape, whose places are pairs of row and start."""
    seen = torch.ones(count, before + count, dtype=torch.bool, device=device).tril(before)
    if len(places) == 1:
        row, start = places[0]
        return Prompts(slice(row, row + 1), slice(start, start + count), seen)
    rows, starts = torch.tensor(places, device=device).T
    positions = (starts[:, None] + torch.arange(count, device=device)).flatten()
    return Prompts(rows, positions, seen)


def compute_logits(model: PreTrainedModel, step: Step) -> torch.Tensor:
    """Run a model; return the logits after each row's last token, [n, vocabulary]."""
    logits: torch.Tensor = model(
        input_ids=step.ids,
        position_ids=step.columns[None],
        use_cache=False,
        logits_to_keep=len(step.seen),
        ragen_step=step,
    ).logits[0]
    return logits


def _attend(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    *,
    ragen_step: Step,
    **options: object,
) -> tuple[torch.Tensor, None]:
    """Return [1, tokens, heads, size] for a query of [1, heads, tokens, size]."""
    del attention_mask  # part of the interface; a step has its own masks
    unknown = [name for name in _UNSUPPORTED if options.get(name) is not None]
    if unknown:
        raise NotImplementedError(f"its attention uses {', '.join(unknown)}")
    keys, values = ragen_step.cache.write(module.layer_idx, (key, value), ragen_step)
    groups = keys.shape[1]
    # Query heads that share keys are adjacent: [groups, heads of a group, tokens, size].
    query = query[0].view(groups, -1, *query.shape[2:])
    mixed = query.new_empty(query.shape[2], groups * query.shape[1], values.shape[3])
    for prompts in ragen_step.prompts:
        mixed[prompts.places] = _attend_prompts(prompts, query, keys, values, scaling)
    mixed[-len(ragen_step.seen) :] = _attend_last(ragen_step.seen, query, keys, values, scaling)
    return mixed[None], None


def _attend_prompts(
    prompts: Prompts,
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    scaling: float | None,
) -> torch.Tensor:
    """Return [rows * tokens, heads, size] for the tokens of prompts."""
    count, columns = prompts.seen.shape
    groups, heads, _, size = query.shape
    query = query[:, :, prompts.places].reshape(groups, heads, -1, count, size).movedim(2, 0)
    rows = len(query)
    mixed = torch.nn.functional.scaled_dot_product_attention(
        query.flatten(0, 1),
        keys[prompts.rows, :, :columns].flatten(0, 1)[:, None].expand(-1, heads, -1, -1),
        values[prompts.rows, :, :columns].flatten(0, 1)[:, None].expand(-1, heads, -1, -1),
        attn_mask=prompts.seen.expand(rows * groups, heads, -1, -1),
        scale=scaling,
    )
    mixed = mixed.reshape(rows, groups, heads, count, -1).movedim(3, 1)
    return mixed.flatten(2, 3).flatten(0, 1)


def _attend_last(
    seen: torch.Tensor,
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    scaling: float | None,
) -> torch.Tensor:
    """Return [n, heads, size] for the last token of each row.

    The heads of a group take the place of a sequence's tokens, as they read the same keys. So no
    keys are repeated, which would take most of the time.
    """
    count, columns = len(seen), seen.shape[-1]
    query = query[:, :, -count:].permute(2, 0, 1, 3)
    mixed = torch.nn.functional.scaled_dot_product_attention(
        query,
        keys[:count, :, :columns],
        values[:count, :, :columns],
        attn_mask=seen.expand(-1, query.shape[1], query.shape[2], -1),
        scale=scaling,
    )
    return mixed.flatten(1, 2)


AttentionInterface.register(ATTENTION, _attend)
