"""Keys and values of many conversations, a row each, and the attention that reads them.

A forward pass reads one packed sequence: of every conversation the tokens that are new, a whole
prompt or a single token. No token of it is padding. This attention writes their keys and values
into the rows, and lets each token see its own row up to itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AttentionInterface

ATTENTION = "ragen_rows"
"""The name of this attention among those of transformers."""
_ROUND = 256
"""Rows are lengthened by so many columns at once, as that copies them."""
_REFUSED = ("softcap", "s_aux", "sliding_window", "position_bias")
"""What a model may ask of its attention that this one does not do."""


class RowCache:
    """The keys and values of all layers, from left to right, a row for each conversation.

    Args:
        rows: how many conversations.
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._columns = 0
        self._layers: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def grow(self, rows: int) -> None:
        """Have so many rows at least."""
        more = rows - self._rows
        if more <= 0:
            return
        self._rows = rows
        for number, (keys, values) in self._layers.items():
            self._layers[number] = _with_rows(keys, more), _with_rows(values, more)

    def reserve(self, columns: int) -> None:
        """Make rows that hold at least so many tokens; it takes place as layers are written."""
        self._columns = max(self._columns, -(-columns // _ROUND) * _ROUND)

    def copy(self, source: int, target: int, columns: int) -> None:
        """Copy the first columns of one row to another."""
        for layer in self._layers.values():
            for held in layer:
                held[target, :, :columns] = held[source, :, :columns]

    def write(
        self, layer: int, new: tuple[torch.Tensor, torch.Tensor], step: Step
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Put the keys and values of new tokens, each [1, heads, tokens, size], into their rows.

        Returns:
            All keys and all values of the layer, each [rows, heads, columns, size].
        """
        held = self._layers.get(layer)
        if held is None or held[0].shape[2] < self._columns:
            held = self._layers[layer] = self._lengthened(held, new)
        for whole, part in zip(held, new, strict=True):
            whole[step.rows, :, step.columns] = part[0].transpose(0, 1)
        return held

    def _lengthened(
        self,
        held: tuple[torch.Tensor, torch.Tensor] | None,
        new: tuple[torch.Tensor, torch.Tensor],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        # Zeros, since attention multiplies masked values by 0, and garbage may not be a number.
        keys, values = (
            part.new_zeros(self._rows, part.shape[1], self._columns, part.shape[3]) for part in new
        )
        if held is not None:
            width = held[0].shape[2]
            keys[:, :, :width], values[:, :, :width] = held
        return keys, values


def _with_rows(held: torch.Tensor, more: int) -> torch.Tensor:
    return torch.cat([held, held.new_zeros(more, *held.shape[1:])])


@dataclass(frozen=True)
class Prompts:
    """Tokens that a pass reads before the last ones of their rows, as many of each row.

    Attributes:
        rows: whose, which hold as many tokens before.
        places: [rows * tokens], where they are in the packed sequence, row by row. Of one row both
            are slices, since nothing need be copied.
        seen: [tokens, columns], whether a token sees a column of its row.
    """

    rows: slice | torch.Tensor
    places: slice | torch.Tensor
    seen: torch.Tensor


@dataclass(frozen=True)
class Step:
    """One forward pass over rows 0 to n - 1.

    The packed sequence has the prompts first, then the last token of every row in order.

    Attributes:
        cache: the rows.
        ids: [1, tokens], the packed sequence.
        rows: [tokens], the row of each.
        columns: [tokens], the column of each in its row, which is its position too.
        prompts: what is read before the last tokens.
        seen: [n, 1, 1, columns], whether a row's last token sees a column.
    """

    cache: RowCache
    ids: torch.Tensor
    rows: torch.Tensor
    columns: torch.Tensor
    prompts: Sequence[Prompts]
    seen: torch.Tensor


def step_of(
    cache: RowCache,
    held: Sequence[int],
    new: Sequence[Sequence[int]],
    device: torch.device | str,
) -> Step:
    """Return the pass that reads the new tokens of rows 0 to n - 1.

    Args:
        cache: the rows.
        held: how many tokens each row holds already.
        new: at least one token for each row.
        device: where the model is.
    """
    alike: dict[tuple[int, int], list[tuple[int, int]]] = {}
    packed: list[tuple[int, int, int]] = []
    for row, (before, tokens) in enumerate(zip(held, new, strict=True)):
        if count := len(tokens) - 1:
            alike.setdefault((before, count), []).append((row, len(packed)))
        packed += [(token, row, before + i) for i, token in enumerate(tokens[:-1])]
    prompts = [_prompts(*shape, places, device) for shape, places in alike.items()]
    lengths = [before + len(tokens) for before, tokens in zip(held, new, strict=True)]
    packed += [(new[row][-1], row, length - 1) for row, length in enumerate(lengths)]
    cache.reserve(max(lengths))
    ids, rows, columns = torch.tensor(packed, device=device).T.contiguous()
    places = torch.arange(max(lengths), device=device)
    seen = places <= columns[-len(lengths) :, None, None, None]
    return Step(cache, ids[None], rows, columns, prompts, seen)


def _prompts(
    before: int, count: int, places: Sequence[tuple[int, int]], device: torch.device | str
) -> Prompts:
    """Return prompts that are as long and follow as many tokens, by their rows and starts."""
    seen = torch.ones(count, before + count, dtype=torch.bool, device=device).tril(before)
    if len(places) == 1:
        row, start = places[0]
        return Prompts(slice(row, row + 1), slice(start, start + count), seen)
    rows, starts = torch.tensor(places, device=device).T
    every = (starts[:, None] + torch.arange(count, device=device)).flatten()
    return Prompts(rows, every, seen)


def logits_of(model: Any, step: Step) -> torch.Tensor:
    """Run a model that uses this attention; return [n, vocabulary], after each row's last token."""
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
    **asked: Any,
) -> tuple[torch.Tensor, None]:
    """Return [1, tokens, heads, size] for a query of [1, heads, tokens, size]."""
    del attention_mask  # part of the interface; a step says itself what is seen
    unknown = [name for name in _REFUSED if asked.get(name) is not None]
    if unknown:
        raise NotImplementedError(f"its attention uses {', '.join(unknown)}")
    keys, values = ragen_step.cache.write(module.layer_idx, (key, value), ragen_step)
    groups = keys.shape[1]
    # Query heads that share keys lie side by side: [groups, heads of a group, tokens, size].
    query = query[0].view(groups, -1, *query.shape[2:])
    mixed = query.new_empty(query.shape[2], groups * query.shape[1], values.shape[3])
    for prompts in ragen_step.prompts:
        mixed[prompts.places] = _prompt_part(prompts, query, keys, values, scaling)
    mixed[-len(ragen_step.seen) :] = _last_part(ragen_step.seen, query, keys, values, scaling)
    return mixed[None], None


def _prompt_part(
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


def _last_part(
    seen: torch.Tensor,
    query: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    scaling: float | None,
) -> torch.Tensor:
    """Return [n, heads, size] for the last token of each row.

    The heads of a group stand where a sequence's tokens would, as they read the same keys: nothing
    is repeated, which takes most of the time otherwise.
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
