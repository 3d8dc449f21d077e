"""Normalisation of rewards by environment: none of a mixture outweighs the others by its units.

RAGEN's released code (`_normalize_score_tensor`, grouping `inductive`, method `mean_std`) takes the
mean of an environment's returns off as well. Here they are divided alone: a mean taken off cannot
be said of single turns. The deviation is therefore for estimators with a baseline of the group, see
`ragen_starpo.recipes.checks.of_mixture`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch

from ragen_bench.suites import env_id
from ragen_starpo.algorithms.masked import group_deviation
from ragen_starpo.recipes.sections import MixtureSettings
from ragen_starpo.rollout.trajectory import TokenTrajectory, scores_of


def scales_of(settings: MixtureSettings, played: Sequence[TokenTrajectory]) -> dict[str, float]:
    """Return what the rewards of each environment are divided by, by its full id.

    Args:
        settings: whether they are, and by what.
        played: an iteration's rollouts, before any filter. The deviation is that of the returns of
            all rollouts of an environment, whatever their instance; where it is 0, as of one
            rollout, the scale is 1.

    Returns:
        The scales; an environment without one keeps its rewards.
    """
    if settings.normalise == "scales":
        return {env_id(env): scale for env, scale in settings.scales.items()}
    if settings.normalise == "none":
        return {}
    envs = list(dict.fromkeys(rollout.record.env for rollout in played))
    index = torch.tensor([envs.index(rollout.record.env) for rollout in played])
    deviations = group_deviation(scores_of(played), index, len(envs)).tolist()
    return {env: deviation or 1.0 for env, deviation in zip(envs, deviations, strict=True)}


def divided(
    trajectories: Sequence[TokenTrajectory], scales: Mapping[str, float]
) -> list[TokenTrajectory]:
    """Return trajectories with the reward of each turn divided by its environment's scale.

    Args:
        trajectories: that are learned from.
        scales: as `scales_of` returns them.
    """
    return [
        replace(
            trajectory,
            turns=tuple(replace(turn, reward=turn.reward / scale) for turn in trajectory.turns),
        )
        for trajectory in trajectories
        for scale in [scales.get(trajectory.record.env, 1.0)]
    ]
