"""Mini-batches: the trajectories of each optimiser step."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from ragen_envs.core.instances import RandomStream


def mini_batches(
    count: int, iteration: int, *, size: int, passes: int, seed: int
) -> Iterator[Tensor]:
    """Yield the indices of each step, in an order that the seed decides.

    A pass takes the fewest steps that the size allows. Their sizes differ by at most one, since
    every step moves the policy equally far, and a small one would overweight its trajectories.

    Args:
        count: Trajectories of the iteration; each is in one step of each pass.
        iteration: Number of the iteration, from 0.
        size: Maximum trajectories per step.
        passes: Passes over the trajectories.
        seed: Seed of the run.
    """
    steps = math.ceil(count / size)
    for update in range(passes):
        stream = RandomStream("mini-batches", seed, f"{iteration}/{update}")
        noise = torch.Generator().manual_seed(stream.word() >> 1)
        order = torch.randperm(count, generator=noise)
        yield from torch.tensor_split(order, steps)
