"""Which trajectories each step of the optimiser learns from: the same for every driver."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ragen_envs.instances import Stream
from ragen_starpo.recipe import Recipe


def mini_batches(recipe: Recipe, count: int, iteration: int) -> Iterator[Tensor]:
    """Yield the indices of each step, in an order that the recipe's seed decides.

    Args:
        recipe: of the run.
        count: trajectories of the iteration; each is in one step of each pass over them.
        iteration: from 0 on.
    """
    for update in range(recipe.updates):
        stream = Stream("mini-batches", recipe.seed, f"{iteration}/{update}")
        noise = torch.Generator().manual_seed(stream.word() >> 1)
        order = torch.randperm(count, generator=noise)
        yield from torch.split(order, recipe.mini_batch)
