"""Figures of an iteration's rollouts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from ragen_bench.analysis.reasoning import thought_of_turn
from ragen_starpo.algorithms.masked import group_deviation, group_index, group_sizes
from ragen_starpo.rollout.trajectory import TokenTrajectory, scores_of


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
        of theirs ended in an error.
    """
    failed = groups - len({rollout.group for rollout in trajectories})
    turns = [turn for rollout in trajectories for turn in rollout.turns]
    recorded = [turn for rollout in trajectories for turn in rollout.record.turns]
    generated = sum(len(turn.sampled.ids) for turn in turns)
    return {
        "success": _mean(float(rollout.record.success or 0) for rollout in trajectories),
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
        **({"failed": failed} if failed else {}),
    }


def deviation_in_groups(trajectories: Sequence[TokenTrajectory]) -> float:
    """Return the mean deviation of returns in a group: 0 where no advantage is left.

    Groups of one rollout are left out.
    """
    scores = scores_of(trajectories)
    index, count = group_index(torch.tensor([rollout.group for rollout in trajectories]))
    several = group_sizes(index, count) > 1
    if not several.any():
        return 0.0
    return float(group_deviation(scores, index, count)[several].mean())


def _unshaped(trajectory: TokenTrajectory) -> float:
    """Return what the environment gave."""
    return sum(turn.reward for turn in trajectory.record.turns)


def _mean(values: Iterable[float]) -> float:
    terms = list(values)
    return sum(terms) / len(terms) if terms else 0.0
