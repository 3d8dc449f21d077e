"""Which trajectories each step of the optimiser learns from: the same for every driver."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from ragen_envs.instances import Stream
from ragen_starpo.recipes.recipe import Recipe


def mini_batches(recipe: Recipe, count: int, iteration: int) -> Iterator[Tensor]:
    """Yield the indices of each step, in an order that the recipe's seed decides.

    A pass takes as few steps as the recipe's mini-batch allows, of sizes that differ by one at
    most: every step moves the policy as far, so one of a few trajectories would count them too
    much.

    Args:
        recipe: of the run.
        count: trajectories of the iteration; each is in one step of each pass over them.
        iteration: from 0 on.
    """
    steps = math.ceil(count / recipe.mini_batch)
    for update in range(recipe.updates):
        stream = Stream("mini-batches", recipe.seed, f"{iteration}/{update}")
        noise = torch.Generator().manual_seed(stream.word() >> 1)
        order = torch.randperm(count, generator=noise)
        yield from torch.tensor_split(order, steps)
