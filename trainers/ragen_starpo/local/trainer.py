"""StarPO in one process: the driver of `ragen_starpo.iteration` on one device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor

from ragen_starpo.diagnostics.monitor import AdaptableSettings
from ragen_starpo.engine.adapters import check_adapters
from ragen_starpo.engine.computing import Computing
from ragen_starpo.engine.worker import Critic, Policy, PolicyLossFunction, Reference
from ragen_starpo.iteration import Clock, Iteration, Rollouts, run_iteration
from ragen_starpo.local.actor import Actor
from ragen_starpo.local.validation import validate
from ragen_starpo.objective import policy_contribution, value_contribution
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.rollout.episodes import Refills
from ragen_starpo.rollout.selection import select_rollouts
from ragen_starpo.rollout.trajectory import TokenBatch


class Trainer:
    """Trains in one process; UserError if the initial model or an environment is missing.

    `day` is the date that the chat template may write, today by default; the attribute is None if
    it writes none. `keeps_cache` is that of the `Actor`.
    """

    driver = "local"

    def __init__(
        self, folder: Path, recipe: Recipe, day: str | None = None, *, keeps_cache: bool = False
    ) -> None:
        self.recipe = recipe
        self.settings = AdaptableSettings.of(recipe)
        check_adapters(folder, recipe)
        self._actor = Actor(folder, recipe, day, keeps_cache=keeps_cache)
        self.day = self._actor.day
        self.pad, self.tokenizer = self._actor.pad, self._actor.tokenizer
        micro = recipe.micro_batch
        computing = Computing(recipe.micro_batch_tokens, dtype=recipe.cluster.dtype)
        extra: Any = {"seed": recipe.seed, "computing": computing}
        self.policy = Policy(folder, recipe.optimiser, micro, recipe.lora, **extra)
        self.critic = (
            Critic(folder, recipe.critic, micro, recipe.critic_lora, **extra)
            if recipe.has_critic
            else None
        )
        self.reference = Reference(folder, micro, computing) if recipe.loss.kl else None
        self._actor.load_weights(self.policy.state_for_rollout())

    def iterate(self, number: int) -> Iteration:
        return run_iteration(self.recipe, self.settings, number, self)

    def adapt(self, settings: AdaptableSettings) -> None:
        self.settings = settings

    def validate(self, folder: Path) -> dict[str, float]:
        """Return held-out metrics of the model, which is saved to a folder for it."""
        self.save(folder)
        recipe, rollouts = self.recipe, self.recipe.rollouts
        return validate(
            *(folder, recipe.envs, recipe.response_format, rollouts.max_tokens),
            *(recipe.validation, rollouts.history, self.day),
        )

    def save(self, folder: Path) -> None:
        self.policy.save(folder)

    def save_checkpoint(self, folder: Path) -> None:
        for name, model in self._trained_models():
            model.save_checkpoint(folder / name)

    def load_checkpoint(self, folder: Path) -> None:
        """Continue from a checkpoint; UserError if there is none, or one of another recipe."""
        for name, model in self._trained_models():
            model.load_checkpoint(folder / name)
        self._actor.load_weights(self.policy.state_for_rollout())

    def play(self, number: int, clock: Clock) -> Rollouts:
        with clock.measure("rollouts"):
            refills = Refills(self.recipe, number, self.settings.refills)
            played = self._actor.rollouts(number, self.settings.temperature, refills)
        is_kept = select_rollouts(self.recipe.filter, played, refills.replaced)
        kept = [rollout for rollout, keep in zip(played, is_kept, strict=True) if keep]
        return Rollouts(played, kept, self._actor.error, replaced=len(refills.replaced))

    def log_probs(self, batch: TokenBatch) -> Tensor:
        return self.policy.log_probs(batch, self.settings.temperature)[0]

    def load(self, _rollouts: Rollouts, batch: TokenBatch, _steps: Sequence[Tensor]) -> _Models:
        return _Models(self, batch)

    def publish_weights(self, _number: int, clock: Clock, *, learned: bool) -> None:
        if learned:
            with clock.measure("weights"):
                self._actor.load_weights(self.policy.state_for_rollout())

    def _trained_models(self) -> Iterator[tuple[str, Policy | Critic]]:
        yield "policy", self.policy
        if self.critic is not None:
            yield "critic", self.critic


class _Models:
    """The trainer's models with the batch of an iteration, see `ragen_starpo.iteration.Models`."""

    measures_gap = False

    def __init__(self, trainer: Trainer, batch: TokenBatch) -> None:
        self._trainer, self._batch = trainer, batch
        self._loss, self._temperature = trainer.recipe.loss, trainer.settings.temperature
        self._columns: Mapping[str, Tensor] = {}

    def values(self) -> Tensor | None:
        critic = self._trainer.critic
        return critic.values(self._batch) if critic else None

    def old_log_probs(self) -> Tensor:
        if not self._trainer.recipe.correction.compares:
            return self._batch.log_probs
        return self._trainer.log_probs(self._batch)

    def reference_log_probs(self) -> Tensor | None:
        reference = self._trainer.reference
        return reference.log_probs(self._batch, self._temperature)[0] if reference else None

    def store(self, columns: Mapping[str, Tensor]) -> None:
        self._columns = columns

    def gradient_norm(
        self, batch: TokenBatch, columns: Mapping[str, Tensor], loss: PolicyLossFunction
    ) -> float:
        return self._trainer.policy.gradient_norm(batch, columns, loss, self._temperature)

    def step(self, rows: Tensor, weights: Tensor) -> dict[str, dict[str, float]]:
        batch, trainer = self._batch.rows(rows), self._trainer
        columns = {name: column[rows] for name, column in self._columns.items()}
        columns["weights"] = weights
        policy_loss = partial(policy_contribution, self._loss)
        metrics = {"policy": trainer.policy.update(batch, columns, policy_loss, self._temperature)}
        if trainer.critic is not None:
            value_loss = partial(value_contribution, self._loss)
            metrics["critic"] = trainer.critic.update(batch, columns, value_loss)
        return metrics

    def unload(self) -> None:
        pass
