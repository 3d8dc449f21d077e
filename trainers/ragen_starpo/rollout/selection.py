"""Selection of an iteration's rollouts and their reward scales; the same for every driver.

Episodes that end in an error are restarted, and finally dropped with their group.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import torch
from torch import Tensor

from ragen_bench.errors import UserError
from ragen_bench.suites import env_id
from ragen_envs.core.sums import sum_in_order
from ragen_starpo.algorithms.masked import group_index, group_mean, group_std
from ragen_starpo.algorithms.registry import FILTERS
from ragen_starpo.recipes.sections import FilterSettings, GroupScore, MixtureSettings
from ragen_starpo.rollout.trajectory import TokenTrajectory, scores_of

LOG = logging.getLogger("ragen_starpo.rollout")


@dataclass(frozen=True)
class FailedEpisode:
    """An episode that ended in an error each time it was played.

    `error` has the type and first line of the latest one. A restart does not fix a user's
    `mistake`.
    """

    error: str
    mistake: bool = False
    exit_code: int = 2


Ended: TypeAlias = TokenTrajectory | FailedEpisode


def select_rollouts(
    settings: FilterSettings,
    trajectories: Sequence[TokenTrajectory],
    replaced: Collection[int] = (),
) -> list[bool]:
    """Return for each rollout of an iteration whether it is trained on.

    Groups are kept as a whole, except for rollouts without a sampled token. Each environment is
    filtered separately: returns have different units, and the largest would win. Groups that
    others have replaced are not kept. UserError if no rollout has a sampled token.
    """
    if not any(rollout.turns for rollout in trajectories):
        raise UserError(
            "no prompt leaves room for a response in the context; raise rollouts.context if the "
            "model takes more, lower rollouts.max_tokens, or choose a model of a longer context"
        )
    kept = [False] * len(trajectories)
    for places in _by_environment(trajectories):
        places = [place for place in places if trajectories[place].group not in replaced]
        if not places:
            continue
        rollouts = [trajectories[place] for place in places]
        groups = torch.tensor([rollout.group for rollout in rollouts])
        measure = _measure(settings.score, rollouts)
        kept_in_env = select_groups(settings, scores_of(rollouts), groups, measure).tolist()
        for place, is_kept in zip(places, kept_in_env, strict=True):
            kept[place] = is_kept and bool(trajectories[place].turns)
    return kept


def _by_environment(trajectories: Sequence[TokenTrajectory]) -> list[list[int]]:
    places: dict[str, list[int]] = {}
    for place, trajectory in enumerate(trajectories):
        places.setdefault(trajectory.record.env, []).append(place)
    return list(places.values())


def weigh_groups(
    settings: FilterSettings, trajectories: Sequence[TokenTrajectory]
) -> tuple[list[TokenTrajectory], dict[str, float]]:
    """Return trajectories with the weights of their groups, and metrics, see `FilterSettings`.

    A group's weight is the standard deviation of its returns or its square, divided by the mean
    over the groups of its environment; 1 if that mean is 0. The metric `filter/effective` is the
    effective number of groups as a fraction of them, 1 for equal weights.
    """
    if settings.reweight == "none" or not trajectories:
        return list(trajectories), {}
    weighted, by_group = list(trajectories), []
    for places in _by_environment(trajectories):
        rollouts = [trajectories[place] for place in places]
        index, count = group_index(torch.tensor([rollout.group for rollout in rollouts]))
        weights = group_std(scores_of(rollouts), index, count)
        if settings.reweight == "variance":
            weights = weights.square()
        mean = weights.mean()
        weights = torch.where(mean > 0, weights / mean, 1.0)
        by_group.append(weights)
        for place, weight in zip(places, weights[index].tolist(), strict=True):
            weighted[place] = replace(trajectories[place], weight=weight)
    every = torch.cat(by_group)
    return weighted, {"filter/effective": float(every.mean().square() / every.square().mean())}


def select_groups(
    settings: FilterSettings, scores: Tensor, groups: Tensor, measure: Tensor | None = None
) -> Tensor:
    """Apply a group filter; return (trajectories,) True where trained on, equal within a group.

    A group's score is the mean of `measure`, (trajectories,), or the spread of its returns; for
    `entropy_variance` the variance of `measure`.
    """
    index, count = group_index(groups)
    stds = group_std(scores, index, count)
    if measure is not None and settings.score == "entropy_variance":
        group_scores = group_std(measure, index, count).square()
    elif measure is not None:
        group_scores = group_mean(measure, index, count)
    else:
        group_scores = stds if settings.score == "deviation" else stds.square()
    kept: Tensor = FILTERS.find(settings.strategy)(settings, scores=group_scores, stds=stds)
    return kept[index]


def find_reward_scales(
    settings: MixtureSettings, trajectories: Sequence[TokenTrajectory]
) -> dict[str, float]:
    """Return the divisor of each environment's rewards, by its full id; none is not divided.

    RAGEN's released code (`_normalize_score_tensor`, grouping `inductive`, method `mean_std`)
    also subtracts the mean of an environment's returns. Here they are only divided, since a
    mean cannot be attributed to single turns. The standard deviation is therefore for
    estimators with a baseline of the group, see `ragen_starpo.recipes.checks`. It is that of
    the returns of an environment's rollouts before the filter, over all instances, or 1 where
    it is 0.
    """
    if settings.normalise == "scales":
        return {env_id(env): scale for env, scale in settings.scales.items()}
    if settings.normalise == "none":
        return {}
    envs = list(dict.fromkeys(rollout.record.env for rollout in trajectories))
    index = torch.tensor([envs.index(rollout.record.env) for rollout in trajectories])
    stds = group_std(scores_of(trajectories), index, len(envs)).tolist()
    return {env: std or 1.0 for env, std in zip(envs, stds, strict=True)}


def scale_rewards(
    trajectories: Sequence[TokenTrajectory], scales: Mapping[str, float]
) -> list[TokenTrajectory]:
    """Return trajectories with each turn's reward divided by the scale of its environment."""
    return [
        replace(
            trajectory,
            turns=tuple(replace(turn, reward=turn.reward / scale) for turn in trajectory.turns),
        )
        for trajectory in trajectories
        for scale in [scales.get(trajectory.record.env, 1.0)]
    ]


def _measure(score: GroupScore, rollouts: Sequence[TokenTrajectory]) -> Tensor | None:
    if score in ("deviation", "variance"):
        return None
    if score == "reward":
        return scores_of(rollouts)
    log_probs = [
        [value for turn in rollout.turns for value in turn.sampled.log_probs]
        for rollout in rollouts
    ]
    if score == "length":
        return torch.tensor([len(values) for values in log_probs], dtype=torch.float64)
    means = [-sum_in_order(values) / max(1, len(values)) for values in log_probs]
    return torch.tensor(means, dtype=torch.float64)


def raise_mistakes(ended: Iterable[Ended]) -> None:
    """Raise UserError for the first episode that met a user's mistake."""
    for episode in ended:
        if isinstance(episode, FailedEpisode) and episode.mistake:
            raise UserError(episode.error, episode.exit_code)


def first_error(ended: Iterable[Ended]) -> str | None:
    """Return the error of the first episode that failed; None if all succeeded."""
    return next((episode.error for episode in ended if isinstance(episode, FailedEpisode)), None)


def complete_groups(
    ended: Sequence[Ended], groups: Sequence[Hashable]
) -> dict[int, TokenTrajectory]:
    """Return the trajectories of groups without a failed episode, by their places.

    Returns are compared within a group, so an incomplete one is dropped. UserError if an
    episode met a user's mistake, or no group is left.
    """
    raise_mistakes(ended)
    error = first_error(ended)
    broken = {
        group
        for episode, group in zip(ended, groups, strict=True)
        if isinstance(episode, FailedEpisode)
    }
    if error is not None and broken == set(groups):
        raise UserError(
            "each group of rollouts had an episode that ended in an error, as in "
            f"{error}; fix it, and run the same command to continue",
            exit_code=1,
        )
    return {
        place: episode
        for place, (episode, group) in enumerate(zip(ended, groups, strict=True))
        if isinstance(episode, TokenTrajectory) and group not in broken
    }
