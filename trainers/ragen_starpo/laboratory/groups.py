"""The groups of rollouts that are trained on, their weights, and others in their place."""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from ragen_starpo.laboratory.rollouts import Rollouts
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.recipes.sections import FilterSettings
from ragen_starpo.rollout.selection import select_groups


def keep_groups(recipe: Recipe, rollouts: Rollouts) -> Tensor:
    """Return which rollouts are trained on, (S, R), by the recipe's filter for each seed."""
    scores = rollouts.rewards.sum(-1).double()
    return torch.stack(
        [
            select_groups(recipe.filter, one, groups)
            for one, groups in zip(scores.cpu(), rollouts.groups.cpu(), strict=True)
        ]
    ).to(scores.device)


def weigh_groups(settings: FilterSettings, rollouts: Rollouts, kept: Tensor) -> Tensor:
    """Return the factor of each rollout's advantages by its group's deviation, (S, R).

    It is that of `ragen_starpo.rollout.selection.weigh_groups`, for each seed.
    """
    if settings.reweight == "none":
        return torch.ones_like(kept, dtype=torch.float32)
    weights = rollouts.find_deviations()
    if settings.reweight == "variance":
        weights = weights.square()
    samples = kept.shape[1] // weights.shape[1]
    is_kept = kept.unflatten(1, (-1, samples)).any(-1)  # type: ignore[no-untyped-call]
    mean = (weights * is_kept).sum(1, keepdim=True) / is_kept.sum(1, keepdim=True).clamp(min=1)
    weights = torch.where(mean > 0, weights / mean, 1.0)
    return weights.float().repeat_interleave(samples, 1)


def replace_groups(rollouts: Rollouts, further: Rollouts, flat: Tensor) -> Rollouts:
    """Return rollouts whose groups that are `flat`, (S, groups), are the first of `further`."""
    seeds, groups = flat.shape
    samples = rollouts.ids.shape[1] // groups
    tokens = max(rollouts.ids.shape[2], further.ids.shape[2])
    rank = (flat.cumsum(1) - 1).clamp(min=0)
    row = rank[..., None] * samples + torch.arange(samples, device=flat.device)
    row, is_new = row.flatten(1), flat.repeat_interleave(samples, 1)

    def choose(name: str) -> Tensor:
        before, after = getattr(rollouts, name), getattr(further, name)
        if name in ("ids", "mask", "turns", "log_probs"):
            before, after = (F.pad(one, (0, tokens - one.shape[2])) for one in (before, after))
        shape = (seeds, -1, *[1] * (before.dim() - 2))
        index = row.view(shape).expand(*row.shape, *after.shape[2:])
        return torch.where(is_new.view(shape), after.gather(1, index), before)

    names = ("ids", "mask", "turns", "log_probs", "rewards", "success", "states", "is_void")
    chosen = replace(rollouts, **{name: choose(name) for name in names})
    # A state's number has that of its group, and the new groups have the places of the old ones.
    states = chosen.states % (1 << 32) + rollouts.groups[..., None] * (1 << 32)
    return replace(chosen, states=torch.where(chosen.states < 0, -1, states))
