"""Dynamic sampling: further prompts in place of groups whose returns do not differ (DAPO)."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ragen_bench.episodes.episode import Task
from ragen_starpo.algorithms.masked import group_index, group_std
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.rollout.episodes import INSTANCES_A_SEED, RolloutSpec
from ragen_starpo.rollout.trajectory import TokenTrajectory, scores_of

FIRST_EXTRA = INSTANCES_A_SEED // 2
"""Number in its seed of the first further instance; those of iterations are below it."""


class Refills:
    """The rounds of further prompts of an iteration (DAPO, arXiv 2503.14476, section 3.2).

    A group whose returns have a standard deviation of at most `filter.eps` is replaced by one of
    another instance of its environment, in at most `rollouts.refills` rounds. Instances depend on
    the seed, the iteration and the number of earlier replacements alone, so a resumed run plays
    the same ones. `replaced` are the numbers of replaced groups.
    """

    def __init__(self, recipe: Recipe, iteration: int) -> None:
        self.replaced: set[int] = set()
        self._rounds_left = recipe.rollouts.refills
        self._rollouts, self._seed, self._eps = recipe.rollouts, recipe.seed, recipe.filter.eps
        self._first = iteration * recipe.rollouts.instances * recipe.rollouts.refills

    def begin_round(self, played: Sequence[TokenTrajectory]) -> list[RolloutSpec]:
        """Return the rollouts of the next round, given all complete groups so far; none to end."""
        if not self._rounds_left:
            return []
        self._rounds_left -= 1
        index, count = group_index(torch.tensor([rollout.group for rollout in played]))
        is_flat = (group_std(scores_of(played), index, count) <= self._eps)[index].tolist()
        flat = {
            rollout.group: rollout.record.env
            for rollout, is_in_flat in zip(played, is_flat, strict=True)
            if is_in_flat and rollout.group not in self.replaced
        }
        extra = len(self.replaced)
        self.replaced.update(flat)
        first = self._seed * INSTANCES_A_SEED + FIRST_EXTRA + self._first
        return [
            RolloutSpec(
                self._rollouts.instances + number,
                Task(env, "train", first + number, sample),
                self._seed,
            )
            for number, env in enumerate(flat.values(), extra)
            for sample in range(self._rollouts.samples)
        ]
