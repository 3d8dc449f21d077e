"""Mini-batches: the trajectories of each step of the optimiser, the same for every driver."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from ragen_envs.core.instances import Stream


def mini_batches(
    count: int, iteration: int, *, size: int, passes: int, seed: int
) -> Iterator[Tensor]:
    """Yield the indices of each step, in an order that the seed decides.

    A pass takes as few steps as the size allows, of sizes that differ by one at
    most: every step moves the policy as far, so one of a few trajectories would count them too
    much.

    Args:
        count: trajectories of the iteration; each is in one step of each pass over them.
        iteration: from 0 on.
        size: the most trajectories of a step.
        passes: over the trajectories.
        seed: of the run.
    """
    steps = math.ceil(count / size)
    for update in range(passes):
        stream = Stream("mini-batches", seed, f"{iteration}/{update}")
        noise = torch.Generator().manual_seed(stream.word() >> 1)
        order = torch.randperm(count, generator=noise)
        yield from torch.tensor_split(order, steps)
