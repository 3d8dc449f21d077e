"""Group filters: they choose the groups of rollouts that an iteration trains on.

`scores` and `stds` are (groups,): the score that the recipe ranks groups by, and the standard
deviation of each group's returns. All filters but `all` drop groups whose `stds` are not above
`eps`, since their advantages are 0. Ties go to the earlier group. `amount` is a fraction: of the
groups, of the scores' sum or of the largest score. `keep` ranks the largest or the smallest scores
first, `groups` is a number in place of the fraction, and `slack` is subtracted from the sum.
"""

from __future__ import annotations

import math
from typing import Literal

from ragen_starpo.algorithms.lazy_torch import Tensor, torch
from ragen_starpo.algorithms.registry import filter as group_filter

Keep = Literal["largest", "smallest"]


@group_filter("all", compares_returns=False, formula="every group")
def keep_all(scores: Tensor) -> Tensor:
    """Keep every group."""
    return torch.ones_like(scores, dtype=torch.bool)


def top_k_limit(count: int, amount: float, groups: int | None) -> int:
    """Return the number of groups that top-k keeps of `count`."""
    if groups is not None:
        return min(groups, count)
    # In floating point 0.3 * 10 is above 3.
    return math.ceil(amount * count - 1e-9)


@group_filter(
    "top-k",
    limit=top_k_limit,
    formula="the `amount` of groups of the largest scores, or `groups` of them",
    paper="2504.20073",
)
def top_k(
    scores: Tensor, stds: Tensor, amount: float, groups: int | None, keep: Keep, eps: float
) -> Tensor:
    """Keep a fixed number or fraction of groups (StarPO-S, arXiv 2504.20073, section 4.2)."""
    return _mark(_rank(scores, stds, keep, eps)[: top_k_limit(len(scores), amount, groups)], scores)


@group_filter(
    "top-p",
    fractions=True,
    formula="the fewest groups whose scores sum to `amount` of the total, less `slack`",
    paper="2604.06268",
)
def top_p(
    scores: Tensor, stds: Tensor, amount: float, keep: Keep, slack: float, eps: float
) -> Tensor:
    """Keep the fewest groups whose scores reach a fraction of their sum (RAGEN-2, 2604.06268)."""
    order = _rank(scores, stds, keep, eps)
    return _mark(order[: _nucleus(scores[order], amount, slack)], scores)


@group_filter("top-p-softmax", formula="top-p by the softmax of the scores", paper="2604.06268")
def top_p_softmax(
    scores: Tensor, stds: Tensor, amount: float, keep: Keep, slack: float, eps: float
) -> Tensor:
    """Apply `top_p` to the softmax of the scores, or of their negatives for the smallest."""
    order = _rank(scores, stds, keep, eps)
    ranked = scores[order]
    weights = torch.softmax(ranked if keep == "largest" else -ranked, 0)
    return _mark(order[: _nucleus(weights, amount, slack)], scores)


@group_filter(
    "min-p",
    fractions=True,
    formula="groups of at least `amount` of the largest score",
    paper="2604.06268",
)
def min_p(scores: Tensor, stds: Tensor, amount: float, keep: Keep, eps: float) -> Tensor:
    """Keep groups that reach a fraction of the largest score (RAGEN-2, arXiv 2604.06268).

    With `keep="smallest"`, keep those of at most the smallest score divided by `amount`.
    """
    order = _rank(scores, stds, keep, eps)
    ranked = scores[order]
    if keep == "largest":
        return _mark(order[ranked >= amount * ranked[:1]], scores)
    return _mark(order[ranked <= ranked[:1] / amount], scores)


def _rank(scores: Tensor, stds: Tensor, keep: Keep, eps: float) -> Tensor:
    """Return the indices of the groups whose returns differ, the most wanted first."""
    wanted = scores if keep == "largest" else -scores
    order = torch.argsort(wanted, descending=True, stable=True)
    return order[stds[order] > eps]


def _nucleus(weights: Tensor, amount: float, slack: float) -> int:
    """Return the number of leading weights that reach a fraction of their sum."""
    goal = amount * weights.sum() * (1 - 1e-6) - slack
    before = torch.cumsum(weights, 0) - weights
    return int((before < goal).sum())


def _mark(kept: Tensor, scores: Tensor) -> Tensor:
    marks = torch.zeros_like(scores, dtype=torch.bool)
    marks[kept] = True
    return marks
