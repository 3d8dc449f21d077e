"""The rows that a stack of models reads: whole ones at once, or growing ones from a cache.

Shapes: S seeds, B rows of a seed, T tokens of a row, N tokens that are computed, D channels.
"""

from __future__ import annotations

import math
from copy import copy

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from ragen_starpo.small_model import Shape

_THETA = 10_000.0


class Layout:
    """The distinct beginnings of rows, each of which is computed once.

    Rollouts of a group read the same first observation, and often answer alike. A token is
    computed in the first row with the same tokens up to it; linear layers see those tokens alone,
    and attention sees whole rows.

    Attributes:
        ids: (S, N) the distinct tokens; seeds with fewer have some twice.
        asked: (S, P) number of the state before each token of `place`, among those asked for.
    """

    def __init__(self, shape: Shape, ids: Tensor, place: Tensor) -> None:
        seeds, rows, width = ids.shape
        self._heads, self._last = shape.heads, shape.layers - 1
        self._rows = seeds * rows, width
        device, flat = ids.device, ids.flatten(1)
        # Sums with random weights name beginnings: two have the same once in 2**64 pairs.
        noise = torch.Generator().manual_seed(0)
        factors = torch.randint(-(1 << 62), 1 << 62, (width,), generator=noise).to(device)
        names = ((ids + 1) * factors).cumsum(-1).flatten(1)
        before = (place - 1).clamp(min=0)
        end = before.new_zeros(seeds, rows).scatter_reduce(
            1, before // width, before % width, "amax"
        )
        is_read = (torch.arange(width, device=device) <= end[..., None]).flatten(1)
        names = torch.where(is_read, names, names[:, :1])
        ordered, order = names.sort(dim=1, stable=True)
        is_new = torch.ones_like(ordered, dtype=torch.bool)
        is_new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        # The first of equal names, in the order of names and then of places.
        start = torch.where(is_new, torch.arange(rows * width, device=device), 0).cummax(1).values
        first = torch.empty_like(order).scatter_(1, order, order.gather(1, start))
        is_first = torch.zeros_like(is_new).scatter_(1, first, True)
        number = (is_first.cumsum(1) - 1).gather(1, first)
        self._tokens = _list_places(is_first)
        self.ids = flat.gather(1, self._tokens)
        self._places = self._tokens % width
        self._of_row = _join(number, self._tokens.shape[1])
        self._of_token = _join(self._tokens, rows * width)
        wanted = number.gather(1, before)
        is_asked = torch.zeros_like(self._tokens, dtype=torch.bool).scatter_(1, wanted, True)
        self._asked = _list_places(is_asked)
        self.asked = (is_asked.cumsum(1) - 1).gather(1, wanted)
        # The queries of the last layer stand in their rows, which have some of them.
        token = self._tokens.gather(1, self._asked)
        row, places = token // width, token % width
        index = torch.arange(token.shape[1], device=device).minimum(is_asked.sum(1)[:, None] - 1)
        every = torch.arange(rows, device=device).repeat(seeds, 1)
        slot = index - torch.searchsorted(row, every).gather(1, row)
        most = int(slot.max()) + 1
        empty = torch.zeros(seeds, rows * most, dtype=torch.long, device=device)
        at = row * most + slot
        self._of_slot = _join(empty.scatter(1, at, index), token.shape[1])
        self._slot = _join(at, rows * most)
        last = empty.scatter(1, at, places).view(seeds * rows, 1, most, 1)
        self._mask = torch.arange(width, device=device) <= last

    def ask(self, x: Tensor) -> Tensor:
        """Return the columns, (S, N, D), of the tokens that the last layer is asked for."""
        return _take(x, _join(self._asked, x.shape[1])).view(len(x), -1, x.shape[-1])

    def spread(self, asked: Tensor) -> Tensor:
        """Return columns of the tokens asked for, (S, N, V), at each place."""
        index = self.asked[..., None].expand(*self.asked.shape, asked.shape[-1])
        return asked.gather(1, index)

    def attend(self, layer: int, queries: Tensor, keys: Tensor) -> Tensor:
        """Return what the queries, (S, N, D), read of the keys and values, (S, N', 2 D)."""
        heads, (rows, tokens), width = self._heads, self._rows, queries.shape[-1]
        keys, values = keys.chunk(2, -1)
        keys = _rotate(keys, self._places, heads)
        k, v = (
            _take(one, self._of_row).view(rows, tokens, heads, -1).transpose(1, 2)
            for one in (keys, values)
        )
        is_last = layer == self._last
        places = self._places.gather(1, self._asked) if is_last else self._places
        here, back = (self._of_slot, self._slot) if is_last else (self._of_row, self._of_token)
        q = _take(_rotate(queries, places, heads), here)
        q = q.view(rows, -1, heads, width // heads).transpose(1, 2)
        attended = (
            F.scaled_dot_product_attention(q, k, v, attn_mask=self._mask)
            if is_last
            else F.scaled_dot_product_attention(q, k, v, is_causal=True)
        )
        flat = attended.transpose(1, 2).reshape(-1, width)
        return flat.index_select(0, back).view(queries.shape)


class Cache:
    """Keys and values of rows that grow together; some of their slots may be empty.

    A row's tokens are numbered without its empty slots, so that a row reads what it would read
    alone. The last token of each row is asked for.
    """

    def __init__(
        self, shape: Shape, seeds: int, rows: int, capacity: int, device: torch.device
    ) -> None:
        size = (shape.layers, seeds * rows, shape.heads, capacity, shape.width // shape.heads)
        self.keys, self.values = (
            torch.zeros(size, device=device),
            torch.zeros(size, device=device),
        )
        self.filled = torch.zeros(seeds * rows, capacity, dtype=torch.bool, device=device)
        self.length = torch.zeros(seeds * rows, dtype=torch.long, device=device)
        self._end = 0

    def rows(self, index: Tensor) -> Cache:
        """Return a cache of some rows, given their numbers in all seeds, (rows,)."""
        chosen = copy(self)
        chosen.keys, chosen.values = self.keys[:, index], self.values[:, index]
        chosen.filled, chosen.length = self.filled[index], self.length[index]
        return chosen

    def begin(self, present: Tensor) -> None:
        """Reserve slots for the next tokens; `present`, (S, B, T), is False on empty ones."""
        flat = present.flatten(0, 1)
        tokens, start = flat.shape[1], self._end
        self._start, self._end = start, start + tokens
        self.filled[:, start : self._end] = flat
        counted = flat.cumsum(1)
        self._places = self.length[:, None] + (counted - 1).clamp(min=0)
        self.length += counted[:, -1]
        seen = self.filled[:, None, : self._end].expand(-1, tokens, -1)
        block = torch.ones(tokens, self._end, dtype=torch.bool, device=flat.device)
        # An empty slot reads itself, since a softmax over nothing is not a number.
        own = torch.zeros_like(block).diagonal_scatter(block[:, 0], start)
        self._mask = ((seen & block.tril(start)) | own)[:, None]

    def ask(self, x: Tensor) -> Tensor:
        """Return the columns, (S, B, D), of the last token of each row."""
        seeds, _, width = x.shape
        return x.view(seeds, -1, self._end - self._start, width)[:, :, -1]

    def attend(self, layer: int, queries: Tensor, keys: Tensor) -> Tensor:
        """Store keys and values, (S, B * T, 2 D), and return what the queries read of all."""
        _, rows, heads, _, size = self.keys.shape
        new, values = keys.chunk(2, -1)
        at = slice(self._start, self._end)
        for kept, one in (
            (self.keys, _rotate(new, self._places.view(new.shape[:2]), heads)),
            (self.values, values),
        ):
            kept[layer, :, :, at] = one.reshape(rows, -1, heads, size).transpose(1, 2)
        count = queries.shape[0] * queries.shape[1] // rows
        q = _rotate(queries, self._places[:, -count:].reshape(queries.shape[:2]), heads)
        q = q.view(rows, count, heads, size).transpose(1, 2)
        k, v = self.keys[layer, :, :, : self._end], self.values[layer, :, :, : self._end]
        mask = self._mask[:, :, -count:]
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return attended.transpose(1, 2).reshape(queries.shape)


def _rotate(x: Tensor, places: Tensor, heads: int) -> Tensor:
    """Return queries or keys, (S, N, D), turned by the rotary angles of places (S, N)."""
    size = x.shape[-1] // heads
    rates = torch.exp(torch.arange(0, size, 2, device=x.device) * (-math.log(_THETA) / size))
    angles = places[..., None, None] * rates
    cos, sin = angles.cos(), angles.sin()
    first, second = x.view(*x.shape[:2], heads, size).chunk(2, -1)
    turned = torch.cat((first * cos - second * sin, second * cos + first * sin), -1)
    return turned.flatten(2)


def _list_places(mask: Tensor) -> Tensor:
    """Return the places of a mask, (S, N), in order; the last one again where there are fewer."""
    counts = mask.sum(1, keepdim=True)
    order = torch.argsort((~mask).long(), dim=1, stable=True)
    index = torch.arange(int(counts.max()), device=mask.device).minimum(counts - 1)
    return order.gather(1, index.clamp(min=0))


def _join(index: Tensor, count: int) -> Tensor:
    """Return an index of each seed, (S, N), as one of their joined columns of `count` rows."""
    offsets = torch.arange(len(index), device=index.device) * count
    return (index + offsets[:, None]).flatten()


def _take(x: Tensor, index: Tensor) -> Tensor:
    """Return rows of joined columns, (S, N, D)."""
    return x.reshape(-1, x.shape[-1]).index_select(0, index)
