"""Which groups of rollouts are learned from: those whose returns differ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import torch
from torch import Tensor

from ragen_starpo.algorithms.masked import group_deviation, group_index

Strategy: TypeAlias = Literal["all", "top-k", "top-p", "top-p-softmax", "min-p"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


@dataclass(frozen=True)
class GroupFilter:
    """Keeps the groups that say most, by how much the returns of their rollouts differ.

    Attributes:
        strategy: `all` keeps every group; `top-k` a fixed share of them, the ones of the largest
            deviation (StarPO-S, arXiv 2504.20073, section 4.2); `top-p` the fewest whose variances
            make up a share of the sum of all; `top-p-softmax` the same of the variances' softmax;
            `min-p` those of at least a share of the largest variance (RAGEN-2, arXiv 2604.06268).
        amount: the share, in (0, 1].
        eps: groups whose deviation is not above it are dropped, whatever the strategy but `all`:
            they have no advantages. Returns that differ by rounding alone have a deviation of 0.
    """

    strategy: Strategy = "top-k"
    amount: float = 0.25
    eps: float = 1e-6

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ValueError(
                f"unknown strategy {self.strategy!r}; choose one of: {', '.join(STRATEGIES)}"
            )
        if not 0 < self.amount <= 1 or self.eps < 0:
            raise ValueError(f"filter.amount is in (0, 1] and eps at least 0, got {self}")

    def most(self, groups: int) -> int:
        """Return how many of so many groups are kept at most."""
        if self.strategy != "top-k":
            return groups
        # A share such as 0.3 of 10 is 3, whatever floating point says.
        return math.ceil(self.amount * groups - 1e-9)

    def kept(self, scores: Tensor, groups: Tensor) -> Tensor:
        """Return which trajectories are learned from.

        Args:
            scores: (trajectories,) returns.
            groups: (trajectories,) equal for rollouts of the same instance.

        Returns:
            (trajectories,) True where kept; a group is kept as a whole. There may be none.
        """
        index, count = group_index(groups)
        deviations = group_deviation(scores, index, count)
        return self._groups(deviations)[index]

    def _groups(self, deviations: Tensor) -> Tensor:
        if self.strategy == "all":
            return torch.ones_like(deviations, dtype=torch.bool)
        # Stable, so that ties go to the group that comes first.
        order = torch.argsort(deviations, descending=True, stable=True)
        ranked = deviations[order]
        kept = torch.zeros_like(deviations, dtype=torch.bool)
        kept[order[: self._how_many(ranked)]] = True
        return kept & (deviations > self.eps)

    def _how_many(self, ranked: Tensor) -> int:
        """Return how many groups are kept, given their deviations from the largest on."""
        if self.strategy == "top-k":
            return self.most(len(ranked))
        variances = torch.where(ranked > self.eps, ranked.square(), 0.0)
        if self.strategy == "min-p":
            return int((variances >= self.amount * variances[0]).sum())
        weights = (
            torch.softmax(variances.masked_fill(ranked <= self.eps, -math.inf), 0)
            if self.strategy == "top-p-softmax"
            else variances
        )
        reached = torch.cumsum(weights, 0) >= self.amount * weights.sum() * (1 - 1e-6)
        return int((~reached).sum()) + 1
