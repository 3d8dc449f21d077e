"""Selection of the rollouts that an iteration trains on, the same for every driver."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ragen_bench.errors import UserError
from ragen_envs.core.sums import sum_in_order
from ragen_starpo.algorithms.filters import kept_rollouts
from ragen_starpo.recipes.sections import FilterSettings, GroupScore
from ragen_starpo.rollout.trajectory import TokenTrajectory, scores_of


def chosen(settings: FilterSettings, trajectories: Sequence[TokenTrajectory]) -> list[bool]:
    """Return for each rollout whether it is learned from.

    Whole groups are, without rollouts that sampled nothing. Each environment keeps its share: their
    returns have units of their own, and the one of the largest rewards would keep all.

    Args:
        settings: of the filter.
        trajectories: of an iteration.

    Raises:
        UserError: if none of them sampled anything.
    """
    if not any(rollout.turns for rollout in trajectories):
        raise UserError(
            "no prompt leaves room for an answer in the context; raise rollouts.context if the "
            "model takes more, lower rollouts.max_tokens, or choose a model of a longer context"
        )
    kept = [False] * len(trajectories)
    for env in dict.fromkeys(rollout.record.env for rollout in trajectories):
        places = [n for n, rollout in enumerate(trajectories) if rollout.record.env == env]
        of_env = [trajectories[place] for place in places]
        groups = torch.tensor([rollout.group for rollout in of_env])
        measured = _measured(settings.score, of_env)
        in_env = kept_rollouts(settings, scores_of(of_env), groups, measured).tolist()
        for place, keep in zip(places, in_env, strict=True):
            kept[place] = keep and bool(trajectories[place].turns)
    return kept


def _measured(score: GroupScore, rollouts: Sequence[TokenTrajectory]) -> Tensor | None:
    """Return what a group's score is the mean of; None if that compares returns."""
    if score in ("deviation", "variance"):
        return None
    if score == "reward":
        return scores_of(rollouts)
    sampled = [
        [value for turn in rollout.turns for value in turn.sampled.log_probs]
        for rollout in rollouts
    ]
    if score == "length":
        return torch.tensor([len(values) for values in sampled], dtype=torch.float64)
    means = [-sum_in_order(values) / max(1, len(values)) for values in sampled]
    return torch.tensor(means, dtype=torch.float64)
