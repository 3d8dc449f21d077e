"""Figures of an iteration's rollouts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch

from ragen_bench.analysis.reasoning import thought_of_turn
from ragen_envs.core.sums import sum_in_order
from ragen_starpo.algorithms.masked import group_index, group_sizes, group_std
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.rollout.trajectory import TokenTrajectory, scores_of


def iteration_metrics(
    recipe: Recipe, played: Sequence[TokenTrajectory], scales: Mapping[str, float]
) -> dict[str, float]:
    """Return the figures of an iteration's rollouts, before any filter, by `rollout/NAME`.

    Args:
        recipe: of the run.
        played: at least one.
        scales: that rewards are divided by before they are learned from, see
            `ragen_starpo.algorithms.normalisation`.
    """
    figures = rollout_metrics(played, recipe.rollouts.instances)
    figures |= environment_metrics(recipe.envs, played, scales)
    return {f"rollout/{name}": value for name, value in figures.items()}


def rollout_metrics(trajectories: Sequence[TokenTrajectory], groups: int) -> dict[str, float]:
    """Return the figures of an iteration's rollouts, before any filter.

    Args:
        trajectories: at least one.
        groups: that were begun.

    Returns:
        `success`, a share; `reward`, the mean shaped return, and `shaping`, how much of it the
        environment did not give; `reward_deviation`, the mean over groups of the deviation of
        returns in a group; `turns`; of a turn, `answer_tokens` and `think_characters`;
        `format_valid` and `cut`, shares of turns; `generated_tokens` and `environment_turns`,
        counts; and, where there are any, `failed`, the groups that are left out because an episode
        of theirs ended in an error, and `begun_anew`, how often others were after an error.
    """
    failed = groups - len({rollout.group for rollout in trajectories})
    turns = [turn for rollout in trajectories for turn in rollout.turns]
    recorded = [turn for rollout in trajectories for turn in rollout.record.turns]
    generated = sum(len(turn.sampled.ids) for turn in turns)
    errors = {"failed": failed, "begun_anew": sum(rollout.begun_anew for rollout in trajectories)}
    return {
        "success": _success(trajectories),
        "reward": _mean(rollout.score for rollout in trajectories),
        "shaping": _mean(rollout.score - _unshaped(rollout) for rollout in trajectories),
        "reward_deviation": deviation_in_groups(trajectories),
        "turns": len(turns) / len(trajectories),
        "answer_tokens": generated / max(1, len(turns)),
        "think_characters": _mean(float(len(thought_of_turn(turn))) for turn in recorded),
        "format_valid": _mean(float(turn.format_is_valid or 0) for turn in recorded),
        "cut": _mean(float(not turn.sampled.stopped) for turn in turns),
        "generated_tokens": generated,
        "environment_turns": len(turns),
        **{name: count for name, count in errors.items() if count},
    }


def environment_metrics(
    envs: Sequence[str], trajectories: Sequence[TokenTrajectory], scales: Mapping[str, float]
) -> dict[str, float]:
    """Return the figures of each environment's rollouts, before any filter.

    Args:
        envs: of the recipe; one alone whose rewards are not divided has no figures of its own.
        trajectories: of an iteration.
        scales: that rewards are divided by, by the environment's full id.

    Returns:
        `NAME/success` and `NAME/reward` as in `rollout_metrics`; `NAME/scale`, where there is one.
    """
    figures: dict[str, float] = {}
    if len(envs) == 1 and not scales:
        return figures
    for env in dict.fromkeys(rollout.record.env for rollout in trajectories):
        name = env.partition("/")[2]
        of_env = [rollout for rollout in trajectories if rollout.record.env == env]
        figures[f"{name}/success"] = _success(of_env)
        figures[f"{name}/reward"] = _mean(rollout.score for rollout in of_env)
        if env in scales:
            figures[f"{name}/scale"] = scales[env]
    return figures


def deviation_in_groups(trajectories: Sequence[TokenTrajectory]) -> float:
    """Return the mean deviation of returns in a group: 0 where no advantage is left.

    Groups of one rollout are left out.
    """
    scores = scores_of(trajectories)
    index, count = group_index(torch.tensor([rollout.group for rollout in trajectories]))
    several = group_sizes(index, count) > 1
    if not several.any():
        return 0.0
    return float(group_std(scores, index, count)[several].mean())


def _success(trajectories: Sequence[TokenTrajectory]) -> float:
    return _mean(float(rollout.record.success or 0) for rollout in trajectories)


def _unshaped(trajectory: TokenTrajectory) -> float:
    """Return what the environment gave."""
    return sum_in_order(turn.reward for turn in trajectory.record.turns)


def _mean(values: Iterable[float]) -> float:
    terms = list(values)
    return sum_in_order(terms) / len(terms) if terms else 0.0
