"""One iteration after the other: rollouts, advantages, updates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from ragen_bench.runs.schema import EpisodeRecord
from ragen_starpo.algorithms.aggregation import token_weights
from ragen_starpo.algorithms.mini_batches import mini_batches
from ragen_starpo.diagnostics.adaptation import AdaptableSettings
from ragen_starpo.diagnostics.gradients import gradient_figures
from ragen_starpo.diagnostics.metrics import iteration_metrics
from ragen_starpo.diagnostics.step_metrics import StepFigures
from ragen_starpo.diagnostics.thoughts import thought_figures
from ragen_starpo.engine.computing import computing_of
from ragen_starpo.engine.worker import Critic, Policy, PolicyLossFunction, Reference
from ragen_starpo.hardware import device_here
from ragen_starpo.local.actor import Actor
from ragen_starpo.local.clock import Clock
from ragen_starpo.local.validation import validate
from ragen_starpo.objective import (
    compute_advantages,
    correct_gap,
    policy_contribution,
    value_contribution,
)
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.rollout.selection import find_reward_scales, scale_rewards, select_rollouts
from ragen_starpo.rollout.trajectory import TokenBatch, TokenTrajectory, batch_of


@dataclass(frozen=True)
class Iteration:
    """What came of an iteration.

    Attributes:
        number: from 0 on.
        learned: whether the filter left anything to learn from.
        metrics: figures by name.
        seconds: by phase.
        rollouts: as the harness records them, before any filter, by group.
        error: of the first rollout that failed, None if all ended well.
    """

    number: int
    learned: bool
    metrics: dict[str, float]
    seconds: dict[str, float]
    rollouts: Sequence[EpisodeRecord]
    error: str | None


class Trainer:
    """StarPO in one process.

    Args:
        folder: of the model that training begins with.
        recipe: of the run.

    Raises:
        UserError: if there is no model or no such environment.
    """

    driver = "local"

    def __init__(self, folder: Path, recipe: Recipe) -> None:
        self._recipe = recipe
        self._settings = AdaptableSettings(recipe.rollouts.temperature, recipe.updates)
        self._actor = Actor(folder, recipe)
        micro, computing = recipe.micro_batch, computing_of(recipe, device_here())
        made: Any = {"seed": recipe.seed, "computing": computing}
        self.policy = Policy(folder, recipe.optimiser, micro, recipe.lora, **made)
        self._critic = (
            Critic(folder, recipe.critic, micro, recipe.critic_lora, **made)
            if recipe.has_critic
            else None
        )
        self._reference = Reference(folder, micro, computing) if recipe.loss.kl else None
        self._actor.take(self.policy.state_for_rollout())

    def iterate(self, number: int) -> Iteration:
        """Play, and learn from what is played."""
        clock = Clock()
        temperature = self._settings.temperature
        trajectories = clock.during("rollouts", lambda: self._actor.rollouts(number, temperature))
        scales = find_reward_scales(self._recipe.mixture, trajectories)
        metrics = iteration_metrics(self._recipe, trajectories, scales)
        if self._recipe.diagnostics.thoughts:
            metrics |= clock.during("diagnostics", lambda: self._thoughts(trajectories, number))
        kept = self._kept(trajectories)
        share = metrics["filter/kept"] = len(kept) / len(trajectories)
        if kept:
            batch = batch_of(scale_rewards(kept, scales), self._actor.pad)
            metrics |= clock.during("updates", lambda: self._learn(batch, number, share))
            clock.during("weights", lambda: self._actor.take(self.policy.state_for_rollout()))
        records = [trajectory.record for trajectory in trajectories]
        return Iteration(number, bool(kept), metrics, clock.seconds, records, self._actor.error)

    def adapt(self, settings: AdaptableSettings) -> None:
        """Play and learn by these settings from now on."""
        self._settings = settings

    def validate(self, folder: Path) -> dict[str, float]:
        """Return held-out figures of the model, which is written to a folder for it."""
        self.save(folder)
        recipe, rollouts = self._recipe, self._recipe.rollouts
        return validate(
            folder,
            recipe.envs,
            recipe.response_format,
            rollouts.max_tokens,
            recipe.validation,
            rollouts.history,
        )

    def save(self, folder: Path) -> None:
        """Write the model as a folder that transformers reads."""
        self.policy.save(folder)

    def save_checkpoint(self, folder: Path) -> None:
        """Write all that the next iterations depend on."""
        for name, model in self._trained():
            model.save_checkpoint(folder / name)

    def load_checkpoint(self, folder: Path) -> None:
        """Go on from a checkpoint.

        Raises:
            UserError: if there is none, or of another recipe.
        """
        for name, model in self._trained():
            model.load_checkpoint(folder / name)
        self._actor.take(self.policy.state_for_rollout())

    def _trained(self) -> Iterator[tuple[str, Policy | Critic]]:
        yield "policy", self.policy
        if self._critic is not None:
            yield "critic", self._critic

    def _kept(self, trajectories: list[TokenTrajectory]) -> list[TokenTrajectory]:
        """Return what is learned from."""
        kept = select_rollouts(self._recipe.filter, trajectories)
        return [trajectory for trajectory, keep in zip(trajectories, kept, strict=True) if keep]

    def _thoughts(self, trajectories: list[TokenTrajectory], number: int) -> dict[str, float]:
        """Return what thoughts tell of their contexts to the policy before it learns."""

        def log_probs(batch: TokenBatch) -> Tensor:
            return self.policy.log_probs(batch, self._settings.temperature)[0]

        return thought_figures(self._recipe, trajectories, number, self._actor.tokenizer, log_probs)

    def _learn(self, batch: TokenBatch, number: int, share: float) -> dict[str, float]:
        columns, correction = self._columns(batch, share)
        figures = StepFigures()
        recipe, passes = self._recipe, self._settings.updates
        measured = self._gradients(batch, columns) if recipe.diagnostics.gradients else {}
        batches = mini_batches(
            batch.count, number, size=recipe.mini_batch, passes=passes, seed=recipe.seed
        )
        steps = [batch.rows_of(chosen) for chosen in batches]
        for rows in steps:
            some = batch.rows(rows)
            figures.add(self._step(some, _rows(columns, rows)), int(some.mask.sum()))
        trained = passes * int(batch.mask.sum())
        told = {**figures.means(), **correction, **measured}
        return {**told, "steps": len(steps), "trained_tokens": trained}

    def _gradients(self, batch: TokenBatch, columns: dict[str, Tensor]) -> dict[str, float]:
        """Return norms of the gradient by buckets of groups, before the first step."""

        def norm(some: TokenBatch, own: Mapping[str, Tensor], loss: PolicyLossFunction) -> float:
            return self.policy.gradient_norm(some, own, loss, self._settings.temperature)

        buckets = self._recipe.diagnostics.gradients
        return gradient_figures(self._recipe.loss, buckets, batch, columns, norm)

    def _columns(
        self, batch: TokenBatch, share: float
    ) -> tuple[dict[str, Tensor], dict[str, float]]:
        """Return what the losses need, computed before the first step, and the gap's figures."""
        values = self._critic.values(batch) if self._critic else None
        advantages, returns = compute_advantages(self._recipe.advantage, batch, values)
        advantages = advantages * self._recipe.filter.advantage_factor(share)
        old = batch.log_probs
        if self._recipe.correction.level != "none":
            old = self.policy.log_probs(batch, self._settings.temperature)[0]
        advantages, figures = correct_gap(self._recipe.correction, advantages, old, batch)
        columns = {"advantages": advantages, "old_log_probs": old}
        if values is not None and returns is not None:
            columns |= {"old_values": values, "returns": returns}
        if self._reference is not None:
            temperature = self._settings.temperature
            columns["reference"] = self._reference.log_probs(batch, temperature)[0]
        return columns, figures

    def _step(self, batch: TokenBatch, columns: dict[str, Tensor]) -> dict[str, float]:
        loss, temperature = self._recipe.loss, self._settings.temperature
        columns = {
            **columns,
            "weights": token_weights(
                batch.mask, loss.aggregation, loss.horizon, batch.trajectories
            ),
        }
        figures = self.policy.update(
            batch, columns, partial(policy_contribution, loss), temperature
        )
        metrics = {f"policy/{name}": value for name, value in figures.items()}
        if self._critic is not None:
            figures = self._critic.update(batch, columns, partial(value_contribution, loss))
            metrics |= {f"critic/{name}": value for name, value in figures.items()}
        return metrics


def _rows(columns: dict[str, Tensor], rows: Tensor) -> dict[str, Tensor]:
    return {name: column[rows] for name, column in columns.items()}
