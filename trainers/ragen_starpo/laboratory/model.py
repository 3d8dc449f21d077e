"""A stack of tiny Qwen2 models of one shape, one for each seed, computed together.

Shapes: S seeds, B rows of a seed, T tokens of a row, D channels, V tokens of the vocabulary. Each
weight has a leading dimension of seeds, so that a linear layer is one batched matrix product.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from ragen_starpo.small_model import Shape

Weights = dict[str, Tensor]
"""By name: `embed`, `norm`, and for layer i `norm1.i`, `qkv.i`, `bias.i`, `out.i`, `norm2.i`,
`up.i` (the gate and the up projection side by side) and `down.i`. Matrices are (S, in, out)."""
_THETA = 10_000.0
_EPS = 1e-6
_STDS = {"embed": 0.1, "out": 0.02, "down": 0.02}
"""Standard deviations of initial weights; matrices that read the residual stream begin with unit
gain. Qwen2's 0.02 throughout learns to look at a board many times more slowly at this width."""


@dataclass(frozen=True)
class StackedModel:
    """The function of a stack's weights; `vocabulary` is the number of tokens."""

    shape: Shape
    vocabulary: int

    def make_weights(self, generators: Sequence[torch.Generator]) -> Weights:
        """Return initial weights, drawn from one generator for each seed, on the CPU."""
        shape, layers = self.shape, range(self.shape.layers)
        width, hidden = shape.width, shape.hidden
        matrices = {"embed": (self.vocabulary, width)} | {
            f"{name}.{i}": size
            for i in layers
            for name, size in (
                ("qkv", (width, 3 * width)),
                ("out", (width, width)),
                ("up", (width, 2 * hidden)),
                ("down", (hidden, width)),
            )
        }
        seeds = len(generators)
        weights = {
            name: torch.stack([torch.randn(size, generator=one) for one in generators])
            * _STDS.get(name.partition(".")[0], width**-0.5)
            for name, size in matrices.items()
        }
        norms = ["norm", *(f"{name}.{i}" for i in layers for name in ("norm1", "norm2"))]
        weights |= {name: torch.ones(seeds, width) for name in norms}
        return weights | {f"bias.{i}": torch.zeros(seeds, 3 * width) for i in layers}

    def hidden(self, weights: Weights, ids: Tensor, reader: Cache | Layout) -> Tensor:
        """Return the final hidden states of the tokens that a reader asks for, (S, N, D).

        `ids`, (S, N), are the tokens that the reader is at.
        """
        seeds, width, last = len(ids), self.shape.width, self.shape.layers - 1
        first = torch.arange(seeds, device=ids.device)[:, None] * self.vocabulary
        x = F.embedding(ids + first, weights["embed"].reshape(-1, width))
        for i in range(self.shape.layers):
            normed = F.rms_norm(x, (width,), eps=_EPS)
            # The gain of a norm is a factor of the next weights, of which there are fewer.
            gain = weights[f"norm1.{i}"][..., None]
            bias, qkv = weights[f"bias.{i}"][:, None], gain * weights[f"qkv.{i}"]
            keys = torch.baddbmm(bias[..., width:], normed, qkv[..., width:])
            if i == last:
                # Of the last layer only some tokens are asked for; all are read.
                x, normed = reader.ask(x), reader.ask(normed)
            queries = torch.baddbmm(bias[..., :width], normed, qkv[..., :width])
            attended = reader.attend(i, queries, keys)
            x = torch.baddbmm(x, attended, weights[f"out.{i}"])
            normed = F.rms_norm(x, (width,), eps=_EPS)
            up = weights[f"norm2.{i}"][..., None] * weights[f"up.{i}"]
            gate, up = torch.bmm(normed, up).chunk(2, -1)
            x = torch.baddbmm(x, F.silu(gate) * up, weights[f"down.{i}"])
        return F.rms_norm(x, (width,), eps=_EPS) * weights["norm"][:, None]

    def logits(self, weights: Weights, hidden: Tensor) -> Tensor:
        """Return (S, N, V) logits of hidden states (S, N, D); the embedding is the output layer."""
        return torch.bmm(hidden, weights["embed"].transpose(1, 2))

    def score(
        self, weights: Weights, ids: Tensor, place: Tensor, temperature: Tensor | float = 1.0
    ) -> tuple[Tensor, Tensor]:
        """Return log-probabilities and entropies, (S, N), of tokens of rows (S, B, T).

        `place`, (S, N), has their places in a seed's rows, joined; a row's first has no score. The
        temperature is one number, or one of each seed, (S, 1, 1).
        """
        layout = Layout(self.shape, ids, place)
        log_probs = self._predict(weights, layout, temperature)
        entropies = -(log_probs.exp() * log_probs).sum(-1)
        tokens = ids.flatten(1).gather(1, place)
        chosen = log_probs.flatten(1).gather(1, layout.asked * self.vocabulary + tokens)
        return chosen, entropies.gather(1, layout.asked)

    def predict(self, weights: Weights, ids: Tensor, place: Tensor) -> Tensor:
        """Return log-probabilities of all tokens, (S, N, V), at the places of `score`."""
        layout = Layout(self.shape, ids, place)
        return layout.spread(self._predict(weights, layout, 1.0))

    def _predict(self, weights: Weights, layout: Layout, temperature: Tensor | float) -> Tensor:
        logits = self.logits(weights, self.hidden(weights, layout.ids, layout))
        return torch.log_softmax(logits / temperature, -1)

    def value(self, weights: Weights, ids: Tensor, place: Tensor) -> Tensor:
        """Return a critic's values, (S, N), before the tokens at the places of `score`."""
        layout = Layout(self.shape, ids, place)
        values = torch.bmm(self.hidden(weights, layout.ids, layout), weights["value"])
        return values[..., 0].gather(1, layout.asked)

    def flops(self, tokens: int, asked: int, keys: float = 0.0) -> float:
        """Return the operations of a forward pass: tokens read and asked for, mean keys seen."""
        width, last = self.shape.width, self.shape.layers - 1
        layer = 2 * width * (2 * width + 3 * self.shape.hidden) + 4 * width * keys
        stored = self.shape.layers * tokens * 4 * width * width
        return stored + (last * tokens + asked) * layer + 2.0 * asked * width * self.vocabulary


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


def stack_weights(models: Sequence[Mapping[str, Tensor]], layers: int) -> Weights:
    """Return the weights of Qwen2 models, given as the state dictionaries of transformers."""
    one_by_one = [_from_qwen2(state, layers) for state in models]
    return {name: torch.stack([one[name] for one in one_by_one]) for name in one_by_one[0]}


def _from_qwen2(state: Mapping[str, Tensor], layers: int) -> Weights:
    weights = {"embed": state["model.embed_tokens.weight"], "norm": state["model.norm.weight"]}
    for i in range(layers):

        def read(name: str, prefix: str = f"model.layers.{i}") -> Tensor:
            return state[f"{prefix}.{name}"]

        projections = [f"self_attn.{one}_proj" for one in "qkv"]
        weights |= {
            f"norm1.{i}": read("input_layernorm.weight"),
            f"norm2.{i}": read("post_attention_layernorm.weight"),
            f"qkv.{i}": torch.cat([read(f"{name}.weight") for name in projections]).T,
            f"bias.{i}": torch.cat([read(f"{name}.bias") for name in projections]),
            f"out.{i}": read("self_attn.o_proj.weight").T,
            f"up.{i}": torch.cat([read(f"mlp.{one}_proj.weight") for one in ("gate", "up")]).T,
            f"down.{i}": read("mlp.down_proj.weight").T,
        }
    return {name: weight.detach().float().contiguous() for name, weight in weights.items()}


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
