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

    def hidden(self, weights: Weights, ids: Tensor, cache: Cache | None = None) -> Tensor:
        """Return the final hidden states, (S, B, T, D), of tokens (S, B, T).

        Without a cache, rows are whole sequences, with padding behind them.
        """
        seeds, rows, tokens = ids.shape
        width, heads = self.shape.width, self.shape.heads
        size = width // heads
        first = torch.arange(seeds, device=ids.device)[:, None, None] * self.vocabulary
        x = F.embedding(ids + first, weights["embed"].reshape(-1, width))
        x = x.view(seeds, rows * tokens, width)
        places = torch.arange(tokens, device=ids.device) if cache is None else cache.places
        angles = _angles(places, size).view(-1, 1, tokens, size)
        cos, sin = angles.cos(), angles.sin()
        for i in range(self.shape.layers):
            normed = _rms_norm(x, weights[f"norm1.{i}"])
            qkv = torch.baddbmm(weights[f"bias.{i}"][:, None], normed, weights[f"qkv.{i}"])
            q, k, v = qkv.view(seeds * rows, tokens, 3, heads, size).permute(2, 0, 3, 1, 4)
            q, k = q * cos + _turn(q) * sin, k * cos + _turn(k) * sin
            if cache is None:
                attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            else:
                k, v = cache.add(i, k, v)
                attended = F.scaled_dot_product_attention(q, k, v, attn_mask=cache.mask)
            attended = attended.transpose(1, 2).reshape(seeds, rows * tokens, width)
            x = torch.baddbmm(x, attended, weights[f"out.{i}"])
            up = torch.bmm(_rms_norm(x, weights[f"norm2.{i}"]), weights[f"up.{i}"])
            gate, up = up.chunk(2, -1)
            x = torch.baddbmm(x, F.silu(gate) * up, weights[f"down.{i}"])
        return _rms_norm(x, weights["norm"]).view(seeds, rows, tokens, width)

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
        log_probs = self.predict(weights, ids, place, temperature)
        tokens = ids.flatten(1).gather(1, place)[..., None]
        entropies = -(log_probs.exp() * log_probs).sum(-1)
        return log_probs.gather(-1, tokens)[..., 0], entropies

    def predict(
        self, weights: Weights, ids: Tensor, place: Tensor, temperature: Tensor | float = 1.0
    ) -> Tensor:
        """Return log-probabilities of all tokens, (S, N, V), at the places of `score`."""
        logits = self.logits(weights, self._before(weights, ids, place)) / temperature
        return torch.log_softmax(logits, -1)

    def value(self, weights: Weights, ids: Tensor, place: Tensor) -> Tensor:
        """Return a critic's values, (S, N), before the tokens at the places of `score`."""
        return torch.bmm(self._before(weights, ids, place), weights["value"])[..., 0]

    def _before(self, weights: Weights, ids: Tensor, place: Tensor) -> Tensor:
        hidden = self.hidden(weights, ids).flatten(1, 2)
        before = (place - 1).clamp(min=0)[..., None].expand(*place.shape, hidden.shape[-1])
        return hidden.gather(1, before)

    def flops(self, tokens: int, keys: float, outputs: int) -> float:
        """Return the operations of a forward pass: tokens read, mean keys seen, logits computed."""
        width, shape = self.shape.width, self.shape
        layer = 2 * width * (4 * width + 3 * shape.hidden) + 4 * width * keys
        return tokens * shape.layers * layer + 2.0 * outputs * width * self.vocabulary


class Cache:
    """Keys and values of rows that grow together; some of their slots may be empty.

    A row's tokens are numbered without its empty slots, so that a row reads what it would read
    alone. `places` has the positions of the tokens of `begin`, (S * B, T), and `mask` which slots
    they read, (S * B, 1, T, slots).
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
        self._slots = 0

    def rows(self, index: Tensor) -> Cache:
        """Return a cache of some rows, given their numbers in all seeds, (rows,)."""
        chosen = copy(self)
        chosen.keys, chosen.values = self.keys[:, index], self.values[:, index]
        chosen.filled, chosen.length = self.filled[index], self.length[index]
        return chosen

    def begin(self, present: Tensor) -> None:
        """Reserve slots for the next tokens; `present`, (S, B, T), is False on empty ones."""
        flat = present.flatten(0, 1)
        self._start, self._slots = self._slots, self._slots + flat.shape[1]
        self.filled[:, self._start : self._slots] = flat
        counted = flat.cumsum(1)
        self.places = self.length[:, None] + (counted - 1).clamp(min=0)
        self.length += counted[:, -1]
        seen = self.filled[:, None, : self._slots].expand(-1, flat.shape[1], -1)
        block = torch.ones(flat.shape[1], self._slots, dtype=torch.bool, device=flat.device)
        # An empty slot reads itself, since a softmax over nothing is not a number.
        own = torch.zeros_like(block).diagonal_scatter(
            torch.ones(flat.shape[1], dtype=torch.bool, device=flat.device), self._start
        )
        self.mask = ((seen & block.tril(self._start)) | own)[:, None]

    def add(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Store the next tokens of a layer, and return all so far."""
        self.keys[layer, :, :, self._start : self._slots] = keys
        self.values[layer, :, :, self._start : self._slots] = values
        return self.keys[layer, :, :, : self._slots], self.values[layer, :, :, : self._slots]


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


def _rms_norm(x: Tensor, gain: Tensor) -> Tensor:
    return F.rms_norm(x, (x.shape[-1],), eps=_EPS) * gain[:, None]


def _angles(places: Tensor, size: int) -> Tensor:
    """Return the rotary angles of positions, one for each channel of a head."""
    rates = torch.exp(torch.arange(0, size, 2, device=places.device) * (-math.log(_THETA) / size))
    half = places[..., None] * rates
    return torch.cat((half, half), -1)


def _turn(x: Tensor) -> Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat((-second, first), -1)
