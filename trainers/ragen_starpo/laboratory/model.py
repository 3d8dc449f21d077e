"""A stack of tiny Qwen2 models of one shape, one for each seed, computed together.

Shapes: S seeds, B rows of a seed, T tokens of a row, D channels, V tokens of the vocabulary. Each
weight has a leading dimension of seeds, so that a linear layer is one batched matrix product.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from ragen_starpo.laboratory.readers import Cache, Layout
from ragen_starpo.recipes.run_sections import OptimiserSettings
from ragen_starpo.small_model import Shape

Weights = dict[str, Tensor]
"""By name: `embed`, `norm`, and for layer i `norm1.i`, `qkv.i`, `bias.i`, `out.i`, `norm2.i`,
`up.i` (the gate and the up projection side by side) and `down.i`. Matrices are (S, in, out)."""
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

    def fold(self, weights: Weights) -> Weights:
        """Return the factors of all matrix products, with the gains of the norms in them.

        Rotary pairs of queries and keys, half a head apart in Qwen2, stand side by side.
        """
        width, size = self.shape.width, self.shape.width // self.shape.heads
        pairs = torch.arange(2 * width).view(-1, 2, size // 2).transpose(1, 2).flatten()
        order = torch.cat([pairs, torch.arange(2 * width, 3 * width)]).to(weights["embed"].device)
        folded = {"embed": weights["embed"].reshape(-1, width)}
        folded["head"] = (weights["embed"] * weights["norm"][:, None]).transpose(1, 2)
        if "value" in weights:
            folded["value"] = weights["norm"][..., None] * weights["value"]
        for i in range(self.shape.layers):
            qkv = (weights[f"norm1.{i}"][..., None] * weights[f"qkv.{i}"])[..., order]
            bias = weights[f"bias.{i}"][:, None, order]
            folded[f"queries.{i}"], folded[f"keys.{i}"] = qkv[..., :width], qkv[..., width:]
            folded[f"query_bias.{i}"] = bias[..., :width]
            folded[f"key_bias.{i}"] = bias[..., width:]
            up = weights[f"norm2.{i}"][..., None] * weights[f"up.{i}"]
            folded[f"gate.{i}"], folded[f"up.{i}"] = up.chunk(2, -1)
            folded |= {name: weights[name] for name in (f"out.{i}", f"down.{i}")}
        return folded

    def hidden(self, folded: Weights, ids: Tensor, reader: Cache | Layout) -> Tensor:
        """Return the normed final states of the tokens with a query in the last layer, (S, N, D).

        `ids`, (S, N), are the tokens that the reader is at, and `folded` the weights by `fold`.
        """
        seeds, width, last = len(ids), self.shape.width, self.shape.layers - 1
        first = torch.arange(seeds, device=ids.device)[:, None] * self.vocabulary
        x = F.embedding(ids + first, folded["embed"])
        for i in range(self.shape.layers):
            normed = F.rms_norm(x, (width,), eps=_EPS)
            keys = torch.baddbmm(folded[f"key_bias.{i}"], normed, folded[f"keys.{i}"])
            if i == last:
                # The last layer reads all tokens, and has the queries of some.
                x, normed = reader.select_queries(x), reader.select_queries(normed)
            queries = torch.baddbmm(folded[f"query_bias.{i}"], normed, folded[f"queries.{i}"])
            attended = reader.attend(i, queries, keys)
            x = torch.baddbmm(x, attended, folded[f"out.{i}"])
            normed = F.rms_norm(x, (width,), eps=_EPS)
            gate, up = (torch.bmm(normed, folded[f"{name}.{i}"]) for name in ("gate", "up"))
            x = torch.baddbmm(x, F.silu(gate) * up, folded[f"down.{i}"])
        return F.rms_norm(x, (width,), eps=_EPS)

    def log_probs(
        self, folded: Weights, hidden: Tensor, temperature: Tensor | float = 1.0
    ) -> Tensor:
        """Return log-probabilities, (S, N, V), of the tokens after `hidden`, (S, N, D)."""
        return torch.log_softmax(torch.bmm(hidden, folded["head"]) / temperature, -1)

    def score(
        self, weights: Weights, layout: Layout, temperature: Tensor | float = 1.0
    ) -> tuple[Tensor, Tensor]:
        """Return log-probabilities and entropies, (S, N), of the sampled tokens of a layout.

        The temperature is one number, or one of each seed, (S, 1, 1).
        """
        log_probs = self._predict(weights, layout, temperature)
        entropies = -(log_probs.exp() * log_probs).sum(-1)
        index = layout.query_number * self.vocabulary + layout.sampled
        return log_probs.flatten(1).gather(1, index), entropies.gather(1, layout.query_number)

    def predict(self, weights: Weights, layout: Layout) -> Tensor:
        """Return log-probabilities of all tokens, (S, N, V), at the places of `score`."""
        return layout.spread(self._predict(weights, layout, 1.0))

    def _predict(self, weights: Weights, layout: Layout, temperature: Tensor | float) -> Tensor:
        folded = self.fold(weights)
        return self.log_probs(folded, self.hidden(folded, layout.ids, layout), temperature)

    def value(self, weights: Weights, layout: Layout) -> Tensor:
        """Return a critic's values, (S, N), before the tokens of `score`."""
        folded = self.fold(weights)
        values = torch.bmm(self.hidden(folded, layout.ids, layout), folded["value"])
        return values[..., 0].gather(1, layout.query_number)

    def flops(self, tokens: int, queries: int, keys: float = 0.0) -> float:
        """Return the operations of a forward pass: tokens, last layer's queries, mean keys seen."""
        width, last = self.shape.width, self.shape.layers - 1
        layer = 2 * width * (2 * width + 3 * self.shape.hidden) + 4 * width * keys
        stored = self.shape.layers * tokens * 4 * width * width
        return stored + (last * tokens + queries) * layer + 2.0 * queries * width * self.vocabulary


class AdamW:
    """AdamW with a state, a gradient norm and a schedule for each seed of the weights."""

    def __init__(self, weights: Weights, settings: OptimiserSettings) -> None:
        self._settings = settings
        self._weights = weights
        # The moments of all weights are in one tensor, (S, weights): a GPU launches fewer kernels.
        flat = torch.cat([weight.flatten(1) for weight in weights.values()], 1)
        self._first, self._second = torch.zeros_like(flat), torch.zeros_like(flat)
        self._sizes = [weight[0].numel() for weight in weights.values()]
        self._steps = torch.zeros(len(flat), device=flat.device)

    @torch.no_grad()
    def step(self, gradients: Mapping[str, Tensor], takes: Tensor, factor: float = 1.0) -> Tensor:
        """Take a step in the seeds where `takes`, (S,); return the norms before clipping, (S,).

        `factor` is that of the learning rate.
        """
        settings = self._settings
        flat = torch.cat([gradients[name].flatten(1) for name in self._weights], 1)
        first, *others = (part.sum(1) for part in torch.split(flat.square(), self._sizes, 1))
        norms = sum(others, first).sqrt()
        takes = takes & norms.isfinite()
        scale = torch.where(takes, (settings.clip_grad / (norms + 1e-6)).clamp(max=1.0), 0.0)
        # The first step has a rate of 0 where the rate warms up.
        warm = (self._steps / max(1, settings.warmup_steps)).clamp(max=1.0)
        rate = factor * settings.learning_rate * takes
        if settings.warmup_steps:
            rate = rate * warm
        self._steps = self._steps + takes
        small, large = settings.betas
        counted = self._steps.clamp(min=1)[:, None]
        gradient = flat.nan_to_num_(0.0).mul_(scale[:, None])
        # A seed that takes no step keeps its state.
        on = takes.float()[:, None]
        self._first.lerp_(gradient, (1 - small) * on)
        self._second.mul_(1 - (1 - large) * on).addcmul_(gradient, gradient, value=1 - large)
        change = (self._second / (1 - large**counted)).sqrt_().add_(1e-8).reciprocal_()
        change.mul_(self._first).mul_(rate[:, None] / (1 - small**counted))
        shrink = 1 - rate * settings.weight_decay
        parts = torch.split(change, self._sizes, 1)
        for weight, part in zip(self._weights.values(), parts, strict=True):
            weight.mul_(shrink.view(-1, *[1] * (weight.dim() - 1))).sub_(part.view(weight.shape))
        return norms
