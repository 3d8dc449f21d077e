"""The rows that a stack of models reads: whole ones at once, or growing ones from a cache.

Shapes: S seeds, B rows of a seed, T tokens of a row, N tokens that are computed, D channels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from copy import copy
from functools import lru_cache

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from ragen_starpo.small_model import Shape

_THETA = 10_000.0
_SPARE = 4
"""Empty slots of a cache that grows, for the tokens of an answer."""
_PARTS = (4, 8, 16, 32)
"""Bounds of the numbers of queries of rows that are computed together."""


class Layout:
    """The distinct beginnings of rows, each of which is computed once.

    Rollouts of a group read the same first observation, and often answer alike. A token is
    computed in the first row with the same tokens up to it; linear layers see those tokens alone,
    and attention sees whole rows.

    Attributes:
        place: (S, P) places of the sampled tokens in a seed's rows, joined.
        is_sampled: (S, P) whether a place has one; seeds with fewer have other places at the end.
        sampled: (S, P) tokens at these places.
        ids: (S, N) the distinct tokens; seeds with fewer have some twice.
        query_number: (S, P) number of the last layer's query for each place: the state before it.
    """

    def __init__(self, shape: Shape, ids: Tensor, mask: Tensor) -> None:
        """`ids` are rows, (S, B, T), and `mask` is above 0 on sampled tokens, no row's first."""
        seeds, rows, width = ids.shape
        is_sampled = mask.flatten(1) > 0
        place = put_first(is_sampled)[:, : int(is_sampled.sum(1).max())]
        self.place, self.is_sampled = place, is_sampled.gather(1, place)
        self._heads, self._last = shape.heads, shape.layers - 1
        device, flat = ids.device, ids.flatten(1)
        self.sampled = flat.gather(1, place)
        names = name_beginnings(ids).flatten(1)
        before = (place - 1).clamp(min=0)
        end = before.new_zeros(seeds, rows).scatter_reduce(
            1, before // width, before % width, "amax"
        )
        is_read = (torch.arange(width, device=device) <= end[..., None]).flatten(1)
        self._tokens, number = find_distinct(torch.where(is_read, names, names[:, :1]))
        self.ids = flat.gather(1, self._tokens)
        factors = make_factors(shape, width, device)
        self._factors = take(factors, self._tokens % width)
        self._key_factors = torch.cat([self._factors, torch.ones_like(self._factors)], -1)
        column = _join(number, self._tokens.shape[1]).view(seeds * rows, width)
        is_first = torch.zeros_like(is_read).scatter_(1, self._tokens, True)
        self._queries = _Queries(is_first.view(-1, width), column, column, self._tokens)
        wanted = number.gather(1, before)
        is_last = torch.zeros_like(self._tokens, dtype=torch.bool).scatter_(1, wanted, True)
        self._last_tokens = _list_places(is_last)
        query = is_last.cumsum(1) - 1
        self.query_number = query.gather(1, wanted)
        token = self._tokens.gather(1, self._last_tokens)
        is_query = torch.zeros_like(is_read).scatter_(1, token, True)
        query = _join(query.gather(1, number).clamp(min=0), self._last_tokens.shape[1])
        query = query.view(-1, width)
        self._last_queries = _Queries(is_query.view(-1, width), query, column, token)

    def select_queries(self, x: Tensor) -> Tensor:
        """Return the columns, (S, N, D), of the tokens with a query in the last layer."""
        index = _join(self._last_tokens, x.shape[1]).view(self._last_tokens.shape)
        return take(x.flatten(0, 1), index)

    def spread(self, columns: Tensor) -> Tensor:
        """Return columns of the last layer's queries, (S, N, V), at each place."""
        index = self.query_number[..., None]
        return columns.gather(1, index.expand(*self.query_number.shape, columns.shape[-1]))

    def attend(self, layer: int, queries: Tensor, keys: Tensor) -> Tensor:
        """Return what the queries, (S, N, D), read of the keys and values, (S, N', 2 D)."""
        width, is_last = queries.shape[-1], layer == self._last
        factors = self.select_queries(self._factors) if is_last else self._factors
        queries = _rotate(queries, factors).view(-1, width)
        keys = _rotate(keys, self._key_factors).view(-1, 2 * width)
        chosen = self._last_queries if is_last else self._queries
        attended = []
        for of_query, of_key, mask in chosen.parts:
            q = take(queries, of_query).view(*of_query.shape, self._heads, -1).transpose(1, 2)
            both = take(keys, of_key).view(*of_key.shape, 2, self._heads, -1).transpose(1, 3)
            k, v = both.unbind(2)
            read = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            attended.append(read.transpose(1, 2).reshape(-1, width))
        return take(torch.cat(attended), chosen.back)


class _Queries:
    """The queries of rows in parts, each of rows with similar numbers of queries.

    Attributes:
        parts: Of some rows the columns of queries (rows, n) and of keys (rows, n'), and which
            queries read which keys, (rows, 1, n, n').
        back: (S, N) the place among the parts' queries of each token that is a query.
    """

    def __init__(self, is_query: Tensor, query: Tensor, key: Tensor, tokens: Tensor) -> None:
        """`is_query`, `query` and `key` are of the places of all rows, (S * B, T)."""
        rows, width = is_query.shape
        places = torch.arange(width, device=key.device)
        counts, end = is_query.sum(1), (is_query * (places + 1)).amax(1)
        order = put_first(is_query)
        # Places without a query share the last slot, which no token reads.
        slot = torch.zeros(rows * width + 1, dtype=torch.long, device=key.device)
        self.parts: list[tuple[Tensor, Tensor, Tensor]] = []
        offset = 0
        for some, queries, keys in _split_rows(counts, end):
            at = order[some, :queries]
            of_query = query[some].gather(1, at)
            of_key = key[some, :keys]
            mask = places[:keys] <= at[..., None]
            self.parts.append((of_query, of_key, mask[:, None]))
            there = is_query[some].gather(1, at)
            place = torch.where(there, some[:, None] * width + at, rows * width).flatten()
            slot.scatter_(0, place, offset + torch.arange(len(place), device=key.device))
            offset += len(place)
        self.back = slot[_join(tokens, rows // len(tokens) * width)].view(tokens.shape)


class Cache:
    """Keys and values of rows that grow together; some of their slots may be empty.

    A row's tokens are numbered without its empty slots, so that a row reads what it would read
    alone. The last token of each row has a query in the last layer.
    """

    def __init__(self, shape: Shape, rows: int, device: torch.device) -> None:
        """An empty cache of the rows of all seeds."""
        self._shape = shape
        size = rows, shape.heads, 0, shape.width // shape.heads
        # Keys and values of the first layer, then those of the next.
        self.stored = [torch.empty(size, device=device) for _ in range(2 * shape.layers)]
        self.filled = torch.zeros(rows, 0, dtype=torch.bool, device=device)
        self.length = torch.zeros(rows, dtype=torch.long, device=device)

    def rows(self, index: Tensor) -> Cache:
        """Return a cache of some rows, given their numbers in all seeds, (rows,)."""
        chosen = copy(self)
        chosen.stored = [one.index_select(0, index) for one in self.stored]
        chosen.filled, chosen.length = self.filled[index], self.length[index]
        return chosen

    def begin(self, present: Tensor) -> None:
        """Reserve slots for the next tokens; `present`, (S, B, T), is False on empty ones."""
        flat = present.flatten(0, 1)
        tokens, start = flat.shape[1], self.filled.shape[1]
        self.filled = torch.cat([self.filled, flat], 1)
        end = self.filled.shape[1]
        self._slots = slice(start, end)
        if end > self.stored[0].shape[2]:
            rows, heads, slots, size = self.stored[0].shape
            room = rows, heads, end + _SPARE - slots, size
            self.stored = [torch.cat([one, one.new_empty(room)], 2) for one in self.stored]
        counted = flat.cumsum(1)
        places = self.length[:, None] + (counted - 1).clamp(min=0)
        factors = take(make_factors(self._shape, end, flat.device), places)
        self._factors = factors.view(len(present), -1, factors.shape[-1])
        self.length = self.length + counted[:, -1]
        block = torch.ones(tokens, end, dtype=torch.bool, device=flat.device)
        # An empty slot reads itself, since a softmax over nothing is not a number.
        itself = torch.zeros_like(block).diagonal_scatter(block[:, 0], start)
        self._mask = ((self.filled[:, None] & block.tril(start)) | itself)[:, None]

    def select_queries(self, x: Tensor) -> Tensor:
        """Return the columns, (S, B, D), of the last token of each row."""
        return x.view(len(x), -1, self._mask.shape[2], x.shape[-1])[:, :, -1]

    def attend(self, layer: int, queries: Tensor, keys: Tensor) -> Tensor:
        """Store keys and values, (S, B * T, 2 D), and return the queries' readings of all."""
        rows, heads, _, size = self.stored[0].shape
        new, values = keys.chunk(2, -1)
        at = slice(2 * layer, 2 * layer + 2)
        for kept, one in zip(self.stored[at], (_rotate(new, self._factors), values), strict=True):
            kept[:, :, self._slots] = one.reshape(rows, -1, heads, size).transpose(1, 2)
        factors = self._factors
        if queries.shape[1] != new.shape[1]:
            factors = self.select_queries(factors)
        q = _rotate(queries, factors).view(rows, -1, heads, size).transpose(1, 2)
        k, v = (one[:, :, : self._slots.stop] for one in self.stored[at])
        mask = self._mask[:, :, -q.shape[2] :]
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return attended.transpose(1, 2).reshape(queries.shape)


def _split_rows(counts: Tensor, end: Tensor) -> Iterator[tuple[Tensor, int, int]]:
    """Yield the rows of each part, with its largest numbers of queries and of keys.

    A GPU is waited for once, for the sizes of all rows.
    """
    sizes = torch.stack([counts, end]).cpu()
    part = torch.bucketize(sizes[0], torch.tensor((0, *_PARTS)))
    order = torch.argsort(part, stable=True)
    lengths = torch.bincount(part, minlength=len(_PARTS) + 2).tolist()
    placed = torch.split(order.to(counts.device), lengths)
    of_parts = torch.split(sizes[:, order], lengths, 1)
    for some, one in zip(placed[1:], of_parts[1:], strict=True):
        if len(some):
            queries, keys = one.amax(1).tolist()
            yield some, queries, keys


@lru_cache(maxsize=1024)
def make_factors(shape: Shape, count: int, device: torch.device) -> Tensor:
    """Return the rotary factors of all pairs of channels at the first places, (count, D / 2)."""
    size = shape.width // shape.heads
    rates = torch.exp(torch.arange(0, size, 2, device=device) * (-math.log(_THETA) / size))
    angles = torch.arange(count, device=device)[:, None] * rates.repeat(shape.heads)
    return torch.polar(torch.ones_like(angles), angles)


def name_beginnings(ids: Tensor) -> Tensor:
    """Return a name of each token with those before it in a row, (S, B, T).

    Sums with random weights: two have the same once in 2**64 pairs.
    """
    return ((ids + 1) * _draw_factors(ids.shape[-1], ids.device)).cumsum(-1)


@lru_cache(maxsize=1024)
def _draw_factors(count: int, device: torch.device) -> Tensor:
    noise = torch.Generator().manual_seed(0)
    return torch.randint(-(1 << 62), 1 << 62, (count,), generator=noise).to(device)


def find_distinct(names: Tensor) -> tuple[Tensor, Tensor]:
    """Return the places of the distinct names, (S, N), and the number of each name's, (S, B).

    A name stands where it is first; seeds with fewer have the last place again.
    """
    ordered, order = names.sort(dim=1, stable=True)
    is_new = torch.ones_like(ordered, dtype=torch.bool)
    is_new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    start = torch.where(is_new, torch.arange(names.shape[1], device=names.device), 0)
    start = start.cummax(1).values
    first = torch.empty_like(order).scatter_(1, order, order.gather(1, start))
    is_first = torch.zeros_like(is_new).scatter_(1, first, True)
    return _list_places(is_first), (is_first.cumsum(1) - 1).gather(1, first)


def put_first(mask: Tensor) -> Tensor:
    """Return the places of a mask's last dimension in order, those where it holds first."""
    return torch.argsort((~mask).long(), dim=-1, stable=True)


def take(columns: Tensor, index: Tensor) -> Tensor:
    """Return rows (..., D) of columns (N, D), at an index (...)."""
    return columns.index_select(0, index.flatten()).view(*index.shape, columns.shape[-1])


def _rotate(x: Tensor, factors: Tensor) -> Tensor:
    """Return pairs of channels, (S, N, D), rotated by factors (S, N, D / 2)."""
    pairs = torch.view_as_complex(x.view(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * factors).flatten(-2)


def _list_places(mask: Tensor) -> Tensor:
    """Return the places of a mask, (S, N), in order; the last one again where there are fewer."""
    counts = mask.sum(1, keepdim=True)
    index = torch.arange(int(counts.max()), device=mask.device).minimum(counts - 1)
    return put_first(mask).gather(1, index.clamp(min=0))


def _join(index: Tensor, count: int) -> Tensor:
    """Return an index of each seed, (S, N), as one of their joined columns of `count` rows."""
    offsets = torch.arange(len(index), device=index.device) * count
    return (index + offsets[:, None]).flatten()
