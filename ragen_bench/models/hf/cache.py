"""Keys and values of many conversations, one row each, and the attention over them.

A forward pass reads one packed sequence without padding: the new tokens of every conversation,
which are a whole prompt or a single token. The attention writes their keys and values into the
rows, and lets each token attend to its own row up to itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import AttentionInterface, PreTrainedModel

ATTENTION = "ragen_rows"  # its name among those of transformers
_COLUMN_STEP = 256
"""Rows grow by this many columns at once, or by a quarter, since growing copies them."""
_ALIGNED = 16
"""Columns of a mask in memory; CUDA's kernels copy a mask of another multiple."""
_KERNELS = [SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
"""CUDA kernels that take a mask. cuDNN's is left out, since it plans for each new shape."""
_UNSUPPORTED = ("softcap", "s_aux", "sliding_window", "position_bias")
"""Options of attention that some models use and this one does not implement."""


class RowCache:
    """The keys and values of all layers, with one row per conversation."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._columns = 0
        self._layers: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns; the memory stays in its place as long as they do not change."""
        return self._rows, self._columns

    def grow(self, rows: int) -> None:
        """Grow to at least `rows` rows, keeping their contents."""
        if (added := rows - self._rows) <= 0:
            return
        self._rows = rows
        for number, layer in self._layers.items():
            keys, values = (torch.cat([one, one.new_zeros(added, *one.shape[1:])]) for one in layer)
            self._layers[number] = keys, values

    def reserve(self, columns: int) -> None:
        """Lengthen the rows to at least so many columns, keeping their contents."""
        if columns <= self._columns:
            return
        width = self._columns
        columns = max(columns, width + width // 4)
        self._columns = -(-columns // _COLUMN_STEP) * _COLUMN_STEP
        for number, layer in self._layers.items():
            longer = self._allocate(layer)
            for new, old in zip(longer, layer, strict=True):
                new[:, :, :width] = old
            self._layers[number] = longer

    def copy(self, sources: Mapping[int, int], columns: int) -> None:
        """Copy the first columns of the source of each target, as they are before the call."""
        whole = [cached for layer in self._layers.values() for cached in layer]
        if sources and whole:
            pairs = torch.tensor([*sources.items()], device=whole[0].device)
            for cached in whole:
                cached[pairs[:, 0], :, :columns] = cached[pairs[:, 1], :, :columns]

    def write(
        self, layer: int, new: tuple[torch.Tensor, torch.Tensor], step: Step
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the keys and values of new tokens, each [1, heads, tokens, size], into their rows.

        Return all keys and all values of the layer, each [rows, heads, columns, size].
        """
        if (cached := self._layers.get(layer)) is None:
            cached = self._layers[layer] = self._allocate(new)
        for whole, part in zip(cached, new, strict=True):
            whole[step.rows, :, step.columns] = part[0].transpose(0, 1)
        return cached

    def _allocate(
        self, like: tuple[torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return rows for keys and values with the heads and sizes of others.

        Zeros, as attention multiplies masked values by 0, and uninitialised ones may be NaN.
        """
        keys, values = (
            part.new_zeros(self._rows, part.shape[1], self._columns, part.shape[3]) for part in like
        )
        return keys, values


@dataclass(frozen=True)
class Prompts:
    """The new tokens before the last one, of rows with equal numbers of cached and new tokens.

    `places` are positions in the packed sequence, row by row, [rows * tokens]. For a single
    row, `rows` and `places` are slices, which avoids a copy. `bias` is 0 where a token attends
    to a column of its row, or else minus infinity, [tokens, columns].
    """

    rows: slice | torch.Tensor
    places: slice | torch.Tensor
    bias: torch.Tensor


@dataclass(frozen=True)
class Step:
    """One forward pass over rows 0 to n - 1.

    The packed sequence has the prompts first, then the last token of every row in order. `ids`
    are its token ids, [1, tokens]; `rows` and `columns` have the row of each token and its
    column there, which is its position, [tokens]. `bias` is 0 where a row's last token attends
    to a column, or else minus infinity, [n, 1, 1, columns].
    """

    cache: RowCache
    ids: torch.Tensor
    rows: torch.Tensor
    columns: torch.Tensor
    prompts: Sequence[Prompts]
    bias: torch.Tensor


def make_step(
    cache: RowCache,
    lengths: Sequence[int],
    new: Sequence[Sequence[int]],
    device: torch.device,
    dtype: torch.dtype,
) -> Step:
    """Return the pass that reads the new tokens of rows 0 to n - 1, at least one of each row.

    `lengths` are the numbers of cached tokens of each row. Device and type are the model's.
    """
    groups: dict[tuple[int, int], list[tuple[int, int]]] = {}
    packed: list[tuple[int, int, int]] = []
    for row, (before, tokens) in enumerate(zip(lengths, new, strict=True)):
        if count := len(tokens) - 1:
            groups.setdefault((before, count), []).append((row, len(packed)))
        packed += [(token, row, before + i) for i, token in enumerate(tokens[:-1])]
    prompts = [_make_prompts(*shape, places, device, dtype) for shape, places in groups.items()]
    ends = [before + len(tokens) for before, tokens in zip(lengths, new, strict=True)]
    packed += [(new[row][-1], row, end - 1) for row, end in enumerate(ends)]
    cache.reserve(max(ends))
    ids, rows, columns = torch.tensor(packed, device=device).T.contiguous()
    bias = _make_last_bias(columns[-len(ends) :], max(ends), dtype)
    return Step(cache, ids[None], rows, columns, prompts, bias)


def make_next_step(
    cache: RowCache, ids: torch.Tensor, columns: torch.Tensor, width: int, dtype: torch.dtype
) -> Step:
    """Return the pass that reads one more token of rows 0 to n - 1, without a copy from the host.

    `ids` and `columns` have the token of each row and its column, below `width`, [n]. A row with
    a column beyond is not used: it attends to the first `width` ones.
    """
    rows = torch.arange(len(ids), device=ids.device)
    return Step(cache, ids[None], rows, columns, (), _make_last_bias(columns, width, dtype))


def _make_prompts(
    before: int,
    count: int,
    places: Sequence[tuple[int, int]],
    device: torch.device,
    dtype: torch.dtype,
) -> Prompts:
    """Return the prompts of one shape, whose places are pairs of row and start."""
    seen = torch.ones(count, before + count, dtype=torch.bool, device=device).tril(before)
    bias = _make_bias(seen, dtype)
    if len(places) == 1:
        row, start = places[0]
        return Prompts(slice(row, row + 1), slice(start, start + count), bias)
    rows, starts = torch.tensor(places, device=device).T
    positions = (starts[:, None] + torch.arange(count, device=device)).flatten()
    return Prompts(rows, positions, bias)


def _make_last_bias(columns: torch.Tensor, width: int, dtype: torch.dtype) -> torch.Tensor:
    """Return the bias of tokens in these columns of their rows, [n, 1, 1, width]."""
    places = torch.arange(width, device=columns.device)
    return _make_bias(places <= columns[:, None, None, None], dtype)


def _make_bias(seen: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return 0 where `seen`, and minus infinity elsewhere, with rows that are aligned in memory."""
    *shape, columns = seen.shape
    aligned = -(-columns // _ALIGNED) * _ALIGNED
    bias = torch.full((*shape, aligned), float("-inf"), dtype=dtype, device=seen.device)
    return bias[..., :columns].masked_fill_(seen, 0)


def compute_logits(model: PreTrainedModel, step: Step) -> torch.Tensor:
    """Run a model; return the logits after each row's last token, [n, vocabulary]."""
    on_cuda = step.ids.device.type == "cuda"
    kernels: AbstractContextManager[None] = sdpa_kernel(_KERNELS) if on_cuda else nullcontext()
    positions = step.columns[None]
    if context := getattr(model.config, "max_position_embeddings", None):
        # Steps behind the end of a row, whose tokens are cut, may have no position of their own.
        positions = positions.clamp(max=context - 1)
    with kernels:
        logits: torch.Tensor = model(
            input_ids=step.ids,
            position_ids=positions,
            use_cache=False,
            logits_to_keep=len(step.bias),
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
    last = _attend_last(ragen_step.bias, query, keys, values, scaling)
    if not ragen_step.prompts:
        return last[None], None
    mixed = query.new_empty(query.shape[2], groups * query.shape[1], values.shape[3])
    for prompts in ragen_step.prompts:
        mixed[prompts.places] = _attend_prompts(prompts, query, keys, values, scaling)
    mixed[-len(last) :] = last
    return mixed[None], None


def _attend_prompts(
    prompts: Prompts,
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    scaling: float | None,
) -> torch.Tensor:
    """Return [rows * tokens, heads, size] for the tokens of prompts."""
    count, columns = prompts.bias.shape
    groups, heads, _, size = query.shape
    query = query[:, :, prompts.places].reshape(groups, heads, -1, count, size).movedim(2, 0)
    rows = len(query)
    mixed = torch.nn.functional.scaled_dot_product_attention(
        query.flatten(0, 1),
        keys[prompts.rows, :, :columns].flatten(0, 1)[:, None].expand(-1, heads, -1, -1),
        values[prompts.rows, :, :columns].flatten(0, 1)[:, None].expand(-1, heads, -1, -1),
        attn_mask=prompts.bias.to(query.dtype).expand(rows * groups, heads, -1, -1),
        scale=scaling,
    )
    mixed = mixed.reshape(rows, groups, heads, count, -1).movedim(3, 1)
    return mixed.flatten(2, 3).flatten(0, 1)


def _attend_last(
    bias: torch.Tensor,
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    scaling: float | None,
) -> torch.Tensor:
    """Return [n, heads, size] for the last token of each row.

    The heads of a group take the place of a sequence's tokens, as they read the same keys. So no
    keys are repeated, which would take most of the time. (`enable_gqa` would repeat them here, as
    CUDA's kernels for it take no mask.)
    """
    count, columns = len(bias), bias.shape[-1]
    query = query[:, :, -count:].permute(2, 0, 1, 3)
    mixed = torch.nn.functional.scaled_dot_product_attention(
        query,
        keys[:count, :, :columns],
        values[:count, :, :columns],
        attn_mask=bias.to(query.dtype).expand(-1, query.shape[1], query.shape[2], -1),
        scale=scaling,
    )
    return mixed.flatten(1, 2)


AttentionInterface.register(ATTENTION, _attend)
