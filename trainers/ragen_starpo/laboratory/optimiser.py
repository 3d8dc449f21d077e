"""AdamW for stacked seeds."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ragen_starpo.laboratory.model import Weights
from ragen_starpo.recipes.sections import OptimiserSettings


class AdamW:
    """AdamW with a state, a gradient norm and a schedule for each seed of the weights."""

    def __init__(self, weights: Weights, settings: OptimiserSettings) -> None:
        self._settings = settings
        self._weights = weights
        self._first = {name: torch.zeros_like(weight) for name, weight in weights.items()}
        self._second = {name: torch.zeros_like(weight) for name, weight in weights.items()}
        some = next(iter(weights.values()))
        self._steps = torch.zeros(len(some), device=some.device)

    @torch.no_grad()
    def step(self, gradients: Mapping[str, Tensor], takes: Tensor, factor: float = 1.0) -> Tensor:
        """Take a step in the seeds where `takes`, (S,); return the norms before clipping, (S,).

        `factor` is that of the learning rate.
        """
        settings = self._settings
        squares = sum(gradient.flatten(1).square().sum(1) for gradient in gradients.values())
        assert isinstance(squares, Tensor)
        norms = squares.sqrt()
        takes = takes & norms.isfinite()
        scale = torch.where(takes, (settings.clip_grad / (norms + 1e-6)).clamp(max=1.0), 0.0)
        # The first step has a rate of 0 where the rate warms up.
        warm = (self._steps / max(1, settings.warmup_steps)).clamp(max=1.0)
        rate = factor * settings.learning_rate * takes
        if settings.warmup_steps:
            rate = rate * warm
        self._steps = self._steps + takes
        small, large = settings.betas
        counted = self._steps.clamp(min=1)
        for name, weight in self._weights.items():
            shape = (-1, *[1] * (weight.dim() - 1))
            gradient = gradients[name].nan_to_num(0.0) * scale.view(shape)
            # A seed that takes no step keeps its state.
            on = takes.float().view(shape)
            first, second = self._first[name], self._second[name]
            first.lerp_(gradient, (1 - small) * on)
            second.mul_(1 - (1 - large) * on).addcmul_(gradient, gradient, value=1 - large)
            spread = (second / (1 - large**counted).view(shape)).sqrt_().add_(1e-8)
            weight.mul_(1 - rate.view(shape) * settings.weight_decay)
            step_size = rate / (1 - small**counted)
            weight.sub_(spread.reciprocal_().mul_(first).mul_(step_size.view(shape)))
        return norms
