"""The metrics of an iteration: those of its rollouts, and the means over its update steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import torch

from ragen_bench.analysis.reasoning import read_thought
from ragen_envs.core.sums import sum_in_order
from ragen_starpo.algorithms.masked import group_index, group_sizes, group_std
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.rollout.shaping import overlong_penalty
from ragen_starpo.rollout.trajectory import TokenTrajectory, scores_of

_PER_STEP = ("loss", "grad_norm", "lr")
"""Metrics with one value for a step; all others are means over the step's tokens."""


def iteration_metrics(
    recipe: Recipe,
    trajectories: Sequence[TokenTrajectory],
    scales: Mapping[str, float],
    replaced: int = 0,
) -> dict[str, float]:
    """Return the metrics of all rollouts, at least one, by `rollout/NAME`; `scales` by env id.

    `replaced` is the number of groups whose returns did not differ and that others have replaced.
    The others are among the rollouts too.
    """
    metrics = rollout_metrics(trajectories, recipe.rollouts.instances + replaced)
    metrics |= environment_metrics(recipe.envs, trajectories, scales)
    if recipe.shaping.overlong_buffer:
        most = recipe.rollouts.max_tokens
        metrics["overlong"] = _mean(
            overlong_penalty(recipe.shaping, len(turn.sampled.ids), most)
            for trajectory in trajectories
            for turn in trajectory.turns
        )
    if recipe.loss.mask_void_turns:
        metrics["void"] = _mean(float(trajectory.is_void) for trajectory in trajectories)
    if recipe.most_refills:
        metrics["replaced"] = replaced
    return {f"rollout/{name}": value for name, value in metrics.items()}


def rollout_metrics(trajectories: Sequence[TokenTrajectory], groups: int) -> dict[str, float]:
    """Return the metrics of an iteration's rollouts, at least one, before any filter.

    They are `success`, a rate; `reward`, the mean shaped return, and `shaping`, the part of it that
    the environment did not give; `reward_deviation`, the standard deviation of returns in a group,
    averaged over groups; `turns` per episode; `answer_tokens` and `think_characters` per turn;
    `format_valid` and `cut`, rates of turns; `generated_tokens` and `environment_turns`, counts.
    And, unless 0, `failed`, the number of groups (of those started) skipped because an episode
    failed, and `begun_anew`, the number of restarted episodes.
    """
    failed = groups - len({rollout.group for rollout in trajectories})
    turns = [turn for rollout in trajectories for turn in rollout.turns]
    recorded = [turn for rollout in trajectories for turn in rollout.record.turns]
    generated = sum(len(turn.sampled.ids) for turn in turns)
    # At a standard deviation of 0 no advantage is left.
    index, count = group_index(torch.tensor([rollout.group for rollout in trajectories]))
    stds = group_std(scores_of(trajectories), index, count)[group_sizes(index, count) > 1]
    errors = {"failed": failed, "begun_anew": sum(rollout.begun_anew for rollout in trajectories)}
    return {
        "success": _success(trajectories),
        "reward": _mean(rollout.score for rollout in trajectories),
        "shaping": _mean(
            rollout.score - sum_in_order(turn.reward for turn in rollout.record.turns)
            for rollout in trajectories
        ),
        "reward_deviation": float(stds.mean()) if len(stds) else 0.0,
        "turns": len(turns) / len(trajectories),
        "answer_tokens": generated / max(1, len(turns)),
        "think_characters": _mean(float(len(read_thought(turn))) for turn in recorded),
        "format_valid": _mean(float(turn.format_is_valid or 0) for turn in recorded),
        "cut": _mean(float(not turn.sampled.stopped) for turn in turns),
        "generated_tokens": generated,
        "environment_turns": len(turns),
        **{name: count for name, count in errors.items() if count},
    }


def environment_metrics(
    envs: Sequence[str], trajectories: Sequence[TokenTrajectory], scales: Mapping[str, float]
) -> dict[str, float]:
    """Return `NAME/success`, `NAME/reward` and `NAME/scale` of each environment's rollouts.

    A single environment without a scale has no metrics of its own.
    """
    metrics: dict[str, float] = {}
    if len(envs) == 1 and not scales:
        return metrics
    for env in dict.fromkeys(rollout.record.env for rollout in trajectories):
        name = env.partition("/")[2]
        of_env = [rollout for rollout in trajectories if rollout.record.env == env]
        metrics[f"{name}/success"] = _success(of_env)
        metrics[f"{name}/reward"] = _mean(rollout.score for rollout in of_env)
        if env in scales:
            metrics[f"{name}/scale"] = scales[env]
    return metrics


def _success(trajectories: Sequence[TokenTrajectory]) -> float:
    return _mean(float(rollout.record.success or 0) for rollout in trajectories)


def _mean(values: Iterable[float]) -> float:
    terms = list(values)
    return sum_in_order(terms) / len(terms) if terms else 0.0


class StepMetrics:
    """Averages the metrics of update steps over an iteration.

    Token metrics are weighted by the steps' tokens, step metrics equally. Values that are not
    finite are left out: a step with such a gradient is skipped, and one value would spoil the mean.
    """

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._weights: dict[str, float] = {}
        self._skipped: dict[str, int] = {}

    def add(self, metrics: Mapping[str, float], tokens: int) -> None:
        """Add the values of a step by `MODEL/NAME`, with the number of its sampled tokens."""
        for name, value in metrics.items():
            model, _, kind = name.partition("/")
            if kind == "grad_norm":
                skipped = f"{model}/skipped_steps"
                self._skipped[skipped] = self._skipped.get(skipped, 0) + (not math.isfinite(value))
            if math.isfinite(value):
                weight = 1 if kind in _PER_STEP else tokens
                self._sums[name] = self._sums.get(name, 0.0) + value * weight
                self._weights[name] = self._weights.get(name, 0) + weight

    def means(self) -> dict[str, float]:
        """Return the means, without metrics that were never finite, and `MODEL/skipped_steps`."""
        return {name: total / self._weights[name] for name, total in self._sums.items()} | {
            name: float(count) for name, count in self._skipped.items()
        }
