"""One iteration of learning for all seeds: filter, advantages, losses, and AdamW for each seed.

Everything that decides is `ragen_starpo.algorithms`, called with the rows of all seeds; groups are
numbered across seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import Tensor

from ragen_starpo.algorithms.advantages import (
    find_turn_ends,
    place_on_last_token,
    place_on_turn_ends,
)
from ragen_starpo.algorithms.aggregation import mini_batches, token_weights
from ragen_starpo.algorithms.registry import ESTIMATORS
from ragen_starpo.laboratory.model import StackedModel, Weights
from ragen_starpo.laboratory.rollouts import Rollouts
from ragen_starpo.objective import policy_contribution
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.recipes.sections import AdvantageSettings, OptimiserSettings
from ragen_starpo.rollout.selection import select_groups


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
    def step(
        self, gradients: Mapping[str, Tensor], takes: Tensor, factor: float = 1.0
    ) -> Tensor:
        """Take a step in the seeds where `takes`, (S,); return the norms before clipping, (S,).

        `factor` is that of the learning rate.
        """
        settings = self._settings
        squares = sum(gradient.flatten(1).square().sum(1) for gradient in gradients.values())
        assert isinstance(squares, Tensor)
        norms = squares.sqrt()
        takes = takes & norms.isfinite()
        scale = (settings.clip_grad / (norms + 1e-6)).clamp(max=1.0)
        # The first step has a rate of 0 where the rate warms up.
        warm = (self._steps / max(1, settings.warmup_steps)).clamp(max=1.0)
        rate = factor * settings.learning_rate * torch.where(takes, warm if settings.warmup_steps else 1.0, 0.0)
        self._steps = self._steps + takes
        small, large = settings.betas
        counted = self._steps.clamp(min=1)
        for name, weight in self._weights.items():
            shape = (-1, *[1] * (weight.dim() - 1))
            gradient = gradients[name] * scale.view(shape)
            on = takes.view(shape)
            first, second = self._first[name], self._second[name]
            first.copy_(torch.where(on, small * first + (1 - small) * gradient, first))
            second.copy_(torch.where(on, large * second + (1 - large) * gradient.square(), second))
            mean = first / (1 - small**counted).view(shape)
            spread = (second / (1 - large**counted).view(shape)).sqrt() + 1e-8
            step = mean / spread + settings.weight_decay * weight
            weight -= rate.view(shape) * step
        return norms


def compute_advantages(
    settings: AdvantageSettings, rollouts: Rollouts, kept: Tensor, values: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Return advantages and, with a critic, returns, (S, R, T), of the kept rollouts.

    Group estimators see groups that no two seeds share; others whiten over a seed's tokens.
    """
    estimator = ESTIMATORS.find(settings.estimator)
    mask = (rollouts.mask * kept[..., None]).flatten(0, 1)
    turns = rollouts.turns.flatten(0, 1)
    seeds, count = rollouts.mask.shape[:2]
    scores = rollouts.rewards.sum(-1)
    rewards = (
        place_on_turn_ends(rollouts.rewards.flatten(0, 1), turns, mask)
        if settings.credit == "turn"
        else place_on_last_token(scores.flatten(), mask)
    )
    inputs = {
        "rewards": rewards,
        "mask": mask,
        "ends": find_turn_ends(turns, mask),
        "scores": scores.flatten(),
        "groups": rollouts.groups.flatten(),
    } | ({} if values is None else {"values": values.flatten(0, 1)})
    if estimator.whole_returns:
        result = estimator(settings, **inputs)
    else:
        stacked = {name: column.unflatten(0, (seeds, count)) for name, column in inputs.items()}
        result = torch.vmap(lambda columns: estimator(settings, **columns))(stacked)
    advantages, returns = result if isinstance(result, tuple) else (result, None)
    shape = rollouts.mask.shape
    if not estimator.critic or returns is None:
        return advantages.view(shape).float(), None
    return advantages.view(shape).float(), returns.view(shape).float()


def keep_groups(recipe: Recipe, rollouts: Rollouts) -> Tensor:
    """Return which rollouts are trained on, (S, R), by the recipe's filter for each seed."""
    scores = rollouts.rewards.sum(-1).double()
    return torch.stack(
        [
            select_groups(recipe.filter, one, groups)
            for one, groups in zip(scores.cpu(), rollouts.groups.cpu(), strict=True)
        ]
    ).to(scores.device)


def steps_of(recipe: Recipe, kept: Tensor, number: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the rows of each optimiser step, (S, rows), and which of them are there.

    A seed's order is that of `ragen-train local` with its kept rollouts alone.
    """
    rows = [one.nonzero()[:, 0] for one in kept.cpu()]
    orders = [
        list(
            mini_batches(
                len(one), number, size=recipe.mini_batch, passes=recipe.updates, seed=recipe.seed
            )
        )
        if len(one)
        else []
        for one in rows
    ]
    for step in range(max(map(len, orders))):
        chosen = [
            one[order[step]] if step < len(order) else one[:0]
            for one, order in zip(rows, orders, strict=True)
        ]
        width = max(map(len, chosen))
        index = torch.zeros(len(rows), width, dtype=torch.long)
        there = torch.zeros(len(rows), width, dtype=torch.bool)
        for seed, one in enumerate(chosen):
            index[seed, : len(one)], there[seed, : len(one)] = one, True
        yield index.to(kept.device), there.to(kept.device)


def learn(
    model: StackedModel,
    weights: Weights,
    optimiser: AdamW,
    recipe: Recipe,
    rollouts: Rollouts,
    number: int,
    reference: Weights | None = None,
) -> dict[str, Tensor]:
    """Take all optimiser steps of an iteration; return metrics by name, (S,)."""
    kept = keep_groups(recipe, rollouts)
    advantages, _ = compute_advantages(recipe.advantage, rollouts, kept)
    factors = torch.tensor([recipe.filter.advantage_factor(float(one)) for one in kept.float().mean(1)])
    advantages = advantages * factors.to(kept.device)[:, None, None]
    sums: dict[str, Tensor] = {}
    counts = torch.zeros(len(kept), device=kept.device)
    for index, there in steps_of(recipe, kept, number):
        rows = take_rows(rollouts, advantages, index, there)
        token_loss = torch.stack(
            [
                token_weights(one, recipe.loss.aggregation, recipe.loss.horizon)
                for one in rows["mask"]
            ]
        )
        gradients, metrics = find_gradients(model, weights, recipe, rows, token_loss, reference)
        norms = optimiser.step(gradients, there.any(1))
        tokens = rows["mask"].sum((1, 2))
        counts = counts + tokens
        for name, values in {**metrics, "grad_norm": norms}.items():
            sums[name] = sums.get(name, 0.0) + torch.where(tokens > 0, values * tokens, 0.0)
    means = {name: total / counts for name, total in sums.items()}
    return means | {"kept": kept.float().mean(1), "trained_tokens": counts}


def take_rows(
    rollouts: Rollouts, advantages: Tensor, index: Tensor, there: Tensor
) -> dict[str, Tensor]:
    """Return the columns of some rollouts, (S, rows, T), cut behind the longest; 0 where absent."""
    columns = {
        "ids": rollouts.ids,
        "mask": rollouts.mask.float(),
        "old_log_probs": rollouts.log_probs,
        "advantages": advantages,
    }
    place = index[..., None].expand(*index.shape, rollouts.ids.shape[-1])
    taken = {name: column.gather(1, place) * there[..., None] for name, column in columns.items()}
    longest = int((taken["ids"] != 0).sum(-1).max())
    return {name: column[..., :longest] for name, column in taken.items()}


def find_gradients(
    model: StackedModel,
    weights: Weights,
    recipe: Recipe,
    rows: Mapping[str, Tensor],
    token_loss: Tensor,
    reference: Weights | None = None,
) -> tuple[Weights, dict[str, Tensor]]:
    """Return the gradient of the policy's loss for each seed, and metrics, (S,)."""
    leaves = {name: weight.detach().requires_grad_() for name, weight in weights.items()}
    place, sampled = sampled_places(rows["mask"])
    columns = {
        name: column.flatten(1).gather(1, place) * sampled
        for name, column in {**rows, "weights": token_loss}.items()
        if name != "ids"
    }
    temperature = recipe.rollouts.temperature
    scores = model.score(leaves, rows["ids"], place, temperature)
    if reference is not None:
        with torch.no_grad():
            columns["reference"] = model.score(reference, rows["ids"], place, temperature)[0]
    loss, metrics = torch.vmap(lambda log_probs, entropies, columns: policy_contribution(recipe.loss, log_probs, entropies, columns))(
        *(one[:, None] for one in scores), {name: one[:, None] for name, one in columns.items()}
    )
    gradients = torch.autograd.grad(loss.sum(), list(leaves.values()))
    found = {name: torch.as_tensor(value).detach() for name, value in metrics.items()}
    return dict(zip(leaves, gradients, strict=True)), found


def sampled_places(mask: Tensor) -> tuple[Tensor, Tensor]:
    """Return the places of sampled tokens in a seed's flat rows, (S, N), and which are there."""
    flat = mask.flatten(1) > 0
    most = int(flat.sum(1).max())
    place = torch.argsort((~flat).long(), dim=1, stable=True)[:, :most]
    return place, flat.gather(1, place)
