"""One iteration of learning for all seeds: filter, advantages, losses, and optimiser steps.

Everything that decides is `ragen_starpo.algorithms`, called with the rows of all seeds; groups are
numbered across seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import Tensor

from ragen_starpo.algorithms.advantages import (
    find_turn_ends,
    place_on_last_token,
    place_on_turn_ends,
)
from ragen_starpo.algorithms.aggregation import mini_batches, token_weights
from ragen_starpo.algorithms.registry import ESTIMATORS, LOSSES
from ragen_starpo.engine.worker import Contribution
from ragen_starpo.laboratory.model import AdamW, StackedModel, Weights
from ragen_starpo.laboratory.readers import Layout
from ragen_starpo.laboratory.rollouts import Rollouts, keep_groups, weigh_groups
from ragen_starpo.objective import REFERENCE, policy_contribution, value_contribution
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.recipes.sections import AdvantageSettings


def compute_advantages(
    settings: AdvantageSettings, rollouts: Rollouts, kept: Tensor, values: Tensor | None = None
) -> tuple[Tensor, Tensor | None]:
    """Return advantages and, with a critic, returns, (S, R, T), of the kept rollouts.

    Each seed is estimated by itself, since some estimators whiten over all tokens that they see.
    """
    estimator = ESTIMATORS.find(settings.estimator)
    mask = rollouts.mask * kept[..., None]
    # Rollouts that are left out are of no group.
    groups = torch.where(
        kept, rollouts.groups, -1 - torch.arange(len(kept), device=kept.device)[:, None]
    )
    inputs = {
        "mask": mask,
        "scores": rollouts.rewards.sum(-1),
        "groups": groups,
        "turns": rollouts.turns,
        "turn_rewards": rollouts.rewards,
        "states": torch.where(kept[..., None], rollouts.states, -1),
    } | ({} if values is None else {"values": values})

    def estimate(columns: Mapping[str, Tensor]) -> object:
        by_turn = settings.credit == "turn"
        placed = (
            place_on_turn_ends(columns["turn_rewards"], columns["turns"], columns["mask"])
            if by_turn
            else place_on_last_token(columns["scores"], columns["mask"])
        )
        ends = find_turn_ends(columns["turns"], columns["mask"])
        return estimator(settings, rewards=placed, ends=ends, **columns)

    result = torch.vmap(estimate)(inputs)
    advantages, returns = result if isinstance(result, tuple) else (result, None)
    assert isinstance(advantages, Tensor)
    advantages = advantages.view(rollouts.mask.shape).float() * mask
    if not estimator.critic or not isinstance(returns, Tensor):
        return advantages, None
    return advantages, returns.view(rollouts.mask.shape).float() * mask


def steps_of(
    recipe: Recipe, kept: Tensor, number: int, updates: Sequence[int]
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the rows of each optimiser step, (S, rows), and which of them are there.

    `updates` are the passes of each seed. A seed's order is that of `ragen-train local` with its
    kept rollouts alone.
    """
    rows = [one.nonzero()[:, 0] for one in kept]
    size, seed = recipe.mini_batch, recipe.seed
    orders = [
        list(mini_batches(len(one), number, size=size, passes=passes, seed=seed))
        if len(one)
        else []
        for one, passes in zip(rows, updates, strict=True)
    ]
    for step in range(max(map(len, orders))):
        chosen = [
            one[steps[step]] if step < len(steps) else one[:0]
            for one, steps in zip(rows, orders, strict=True)
        ]
        width = max(map(len, chosen))
        index = torch.zeros(len(rows), width, dtype=torch.long)
        there = torch.zeros(len(rows), width, dtype=torch.bool)
        for row, one in enumerate(chosen):
            index[row, : len(one)], there[row, : len(one)] = one, True
        yield index, there


class Learner:
    """The models of all seeds and their optimisers.

    `weights` are trained in place. The reference of a KL term is a copy of them, and so is the
    critic, with a head `value`, (S, D, 1), that begins at 0. `temperature` and `updates` may be
    changed for single seeds.
    """

    def __init__(self, model: StackedModel, recipe: Recipe, weights: Weights) -> None:
        self.model, self.recipe, self.weights = model, recipe, weights
        self._optimiser = AdamW(weights, recipe.optimiser)
        self.reference = None
        if recipe.loss.kl:
            self.reference = {name: weight.clone() for name, weight in weights.items()}
        self.critic: Weights = {}
        if recipe.has_critic:
            self.critic = {name: weight.clone() for name, weight in weights.items()}
            embed = weights["embed"]
            self.critic["value"] = embed.new_zeros(len(embed), embed.shape[-1], 1)
            self._critic_optimiser = AdamW(self.critic, recipe.critic)
        # Settings that a warning may change for one seed alone.
        self.temperature = torch.full((len(weights["embed"]), 1, 1), recipe.rollouts.temperature)
        self.temperature = self.temperature.to(weights["embed"].device)
        self.updates = [recipe.updates] * len(weights["embed"])
        self.has_noise = "noise" in LOSSES.find(recipe.loss.policy).columns

    def learn(
        self,
        rollouts: Rollouts,
        number: int,
        noise: Tensor | None = None,
        *,
        critic_only: bool = False,
    ) -> dict[str, Tensor]:
        """Take all optimiser steps of an iteration; return metrics by name, (S,).

        `noise`, (S, R, T), are random numbers for a loss that `has_noise`. With `critic_only` the
        policy stays as it is. A metric of a seed that trains on nothing is not a number.
        """
        recipe = self.recipe
        chosen = keep_groups(recipe, rollouts)
        kept = chosen.to(rollouts.ids.device)
        columns = {
            "mask": (rollouts.mask * kept[..., None]).float(),
            "old_log_probs": rollouts.log_probs,
        } | self._find_advantages(rollouts, kept)
        if self.reference is not None:
            columns[REFERENCE] = self._find_reference(self.reference, rollouts)
        if noise is not None:
            columns["noise"] = noise[..., : rollouts.mask.shape[-1]]
        columns["trained"] = columns["mask"]
        if recipe.loss.mask_void_turns:
            columns["trained"] = columns["mask"] * ~rollouts.is_void[..., None]
        numbers = torch.arange(kept.shape[1], device=kept.device)[:, None]
        by_turn = recipe.loss.sequence == "turn"
        columns["sequences"] = numbers * (rollouts.rewards.shape[-1] if by_turn else 1) + (
            rollouts.turns if by_turn else torch.zeros_like(rollouts.turns)
        )
        sums: dict[str, Tensor] = {}
        counts = total = torch.zeros(len(kept), device=kept.device)
        for index, there in steps_of(recipe, chosen, number, self.updates):
            index, there = index.to(kept.device), there.to(kept.device)
            rows = take_rows(rollouts.ids, columns, index, there)
            trained = rows["trained"].sum((1, 2))
            found = self._step(rows, trained > 0, critic_only)
            tokens = rows["mask"].sum((1, 2)) * (trained > 0)
            counts, total = counts + tokens, total + trained
            for name, values in found.items():
                weighted = torch.where(tokens > 0, values * tokens, 0.0)
                sums[name] = sums.get(name, 0.0) + weighted
        means = {name: one / counts for name, one in sums.items()}
        return means | {"kept": kept.float().mean(1), "trained_tokens": total}

    def _find_advantages(self, rollouts: Rollouts, kept: Tensor) -> dict[str, Tensor]:
        """Return the columns that the losses of policy and critic aim at."""
        values = self.find_values(rollouts) if self.critic else None
        settings = self.recipe.advantage
        advantages, returns = compute_advantages(settings, rollouts, kept, values)
        filtered = self.recipe.filter
        factors = weigh_groups(filtered, rollouts, kept)
        if filtered.loss_scale != "none":  # a GPU is waited for
            fractions = kept.float().mean(1).tolist()
            scales = torch.tensor([filtered.advantage_factor(one) for one in fractions])
            factors = scales.to(kept.device)[:, None] * factors
        advantages = advantages * factors[..., None]
        if values is None or returns is None:
            return {"advantages": advantages}
        return {"advantages": advantages, "old_values": values, "returns": returns}

    @torch.no_grad()
    def find_values(self, rollouts: Rollouts) -> Tensor:
        """Return the critic's values of sampled tokens, (S, R, T)."""
        layout = Layout(self.model.shape, rollouts.ids, rollouts.mask)
        return _spread(rollouts, layout, self.model.value(self.critic, layout))

    @torch.no_grad()
    def _find_reference(self, reference: Weights, rollouts: Rollouts) -> Tensor:
        """Return the reference's log-probabilities of sampled tokens, (S, R, T)."""
        layout = Layout(self.model.shape, rollouts.ids, rollouts.mask)
        log_probs, _ = self.model.score(reference, layout, self.temperature)
        return _spread(rollouts, layout, log_probs)

    def _step(
        self, rows: Mapping[str, Tensor], takes: Tensor, critic_only: bool
    ) -> dict[str, Tensor]:
        layout, columns = self._prepare(rows)
        metrics: dict[str, Tensor] = {}
        if not critic_only:
            gradients, metrics = self.find_gradients(layout, columns)
            metrics["grad_norm"] = self._optimiser.step(gradients, takes)
        if self.critic:
            gradients, found = self.find_critic_gradients(layout, columns)
            norms = self._critic_optimiser.step(gradients, takes)
            metrics |= {f"critic_{name}": one for name, one in found.items()}
            metrics["critic_grad_norm"] = norms
        return metrics

    def find_gradients(
        self, layout: Layout, columns: Mapping[str, Tensor]
    ) -> tuple[Weights, dict[str, Tensor]]:
        """Return the gradient of the policy's loss for each seed, and metrics, (S,)."""
        leaves, settings = _make_leaves(self.weights), self.recipe.loss
        log_probs, entropies = self.model.score(leaves, layout, self.temperature)

        def contribute(inputs: Mapping[str, Tensor]) -> Contribution:
            return policy_contribution(settings, inputs["log_probs"], inputs["entropies"], inputs)

        inputs = {**columns, "log_probs": log_probs, "entropies": entropies}
        return _differentiate(leaves, contribute, inputs)

    def find_critic_gradients(
        self, layout: Layout, columns: Mapping[str, Tensor]
    ) -> tuple[Weights, dict[str, Tensor]]:
        """Return the gradient of the critic's loss for each seed, and metrics, (S,)."""
        leaves, settings = _make_leaves(self.critic), self.recipe.loss

        def contribute(inputs: Mapping[str, Tensor]) -> Contribution:
            return value_contribution(settings, inputs["values"], inputs)

        inputs = {**columns, "values": self.model.value(leaves, layout)}
        return _differentiate(leaves, contribute, inputs)

    def _prepare(self, rows: Mapping[str, Tensor]) -> tuple[Layout, dict[str, Tensor]]:
        """Return the layout of rows, and the columns of their sampled tokens, (S, N)."""
        layout = Layout(self.model.shape, rows["ids"], rows["mask"])
        settings = self.recipe.loss

        def weigh(mask: Tensor) -> Tensor:
            return token_weights(mask, settings.aggregation, settings.horizon)

        token_loss = torch.vmap(weigh)(rows["trained"])
        columns = {
            name: column.flatten(1).gather(1, layout.place) * layout.is_sampled
            for name, column in {**rows, "weights": token_loss}.items()
            if name not in ("ids", "sequences", "trained")
        }
        # Numbers of sequences rise along a row, as far as to the places that are not there.
        sequences = rows["sequences"].flatten(1).gather(1, layout.place)
        columns["sequences"] = sequences.cummax(1).values
        return layout, columns


def _make_leaves(weights: Weights) -> Weights:
    return {name: weight.detach().requires_grad_() for name, weight in weights.items()}


def _differentiate(
    leaves: Weights,
    contribute: Callable[[Mapping[str, Tensor]], Contribution],
    columns: Mapping[str, Tensor],
) -> tuple[Weights, dict[str, Tensor]]:
    """Return the gradient of each seed's loss, and metrics, from columns (S, N), one row a seed."""
    loss, metrics = torch.vmap(contribute)({name: one[:, None] for name, one in columns.items()})
    gradients = torch.autograd.grad(loss.sum(), list(leaves.values()))
    found = {name: torch.as_tensor(value).detach() for name, value in metrics.items()}
    return dict(zip(leaves, gradients, strict=True)), found


def _spread(rollouts: Rollouts, layout: Layout, values: Tensor) -> Tensor:
    shape, values = rollouts.mask.shape, values * layout.is_sampled
    return values.new_zeros(shape).flatten(1).scatter_add_(1, layout.place, values).view(shape)


def take_rows(
    ids: Tensor, columns: Mapping[str, Tensor], index: Tensor, there: Tensor
) -> dict[str, Tensor]:
    """Return some rollouts, (S, rows, T), cut behind the longest; 0 where absent."""
    place = index[..., None].expand(*index.shape, ids.shape[-1])
    taken = {
        name: column.gather(1, place) * there[..., None]
        for name, column in {**columns, "ids": ids}.items()
    }
    # Absent rows are last, and their number no smaller than those before.
    taken["sequences"] = columns["sequences"].gather(1, place)
    places = torch.arange(1, ids.shape[-1] + 1, device=ids.device)
    longest = int(((taken["mask"] > 0) * places).max())
    return {name: column[..., :longest] for name, column in taken.items()}
