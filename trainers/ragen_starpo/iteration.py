"""One iteration of StarPO: rollouts, metrics, filter, advantages, updates.

`run_iteration` is the same for every driver. A `Driver` plays rollouts and computes with the
models: in one process, or in the processes of verl's cluster.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from ragen_bench.runs.schema import EpisodeRecord
from ragen_envs.core.instances import RandomStream
from ragen_starpo.algorithms.aggregation import mini_batches, token_weights
from ragen_starpo.diagnostics.gradients import measure_gradients
from ragen_starpo.diagnostics.metrics import StepMetrics, iteration_metrics
from ragen_starpo.diagnostics.monitor import AdaptableSettings
from ragen_starpo.diagnostics.thoughts import measure_thoughts
from ragen_starpo.engine.worker import PolicyLossFunction
from ragen_starpo.objective import (
    CORRECTION,
    REFERENCE,
    compute_advantages,
    correct_gap,
    find_trained_tokens,
    number_sequences,
    optional_columns,
    reject_tokens,
)
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.rollout.selection import find_reward_scales, scale_rewards, weigh_groups
from ragen_starpo.rollout.trajectory import TokenBatch, TokenTrajectory, batch_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class Iteration:
    """The result of an iteration, counted from 0; `learned` if the filter kept any rollouts.

    Metrics are by name, seconds by phase, and `rollouts` the records before the filter, by
    group. `error` is that of the first rollout that failed.
    """

    number: int
    learned: bool
    metrics: dict[str, float]
    seconds: dict[str, float]
    rollouts: Sequence[EpisodeRecord]
    error: str | None


@dataclass(frozen=True)
class Rollouts:
    """The rollouts of an iteration: those `played`, without failed groups, and those `kept`.

    Both are by group and rollout. `error` is that of the first episode that failed, `replaced`
    the number of groups that others have replaced, see `ragen_starpo.rollout.episodes`.
    """

    played: list[TokenTrajectory]
    kept: list[TokenTrajectory]
    error: str | None
    replaced: int = field(default=0, kw_only=True)


R = TypeVar("R", bound=Rollouts)


class Models(Protocol):
    """The models of a run, with the batch of an iteration loaded.

    All tensors are (sequences, tokens), 0 on tokens that were not sampled. With `measures_gap`,
    `old_log_probs` always recomputes log-probabilities, so their difference from the engine's
    is a metric.
    """

    measures_gap: bool

    def values(self) -> Tensor | None:
        """Return the critic's values; None without a critic."""

    def old_log_probs(self) -> Tensor:
        """Return log-probabilities of the policy that the updates start from."""

    def reference_log_probs(self) -> Tensor | None:
        """Return log-probabilities of the reference; None without a KL term."""

    def store(self, columns: Mapping[str, Tensor]) -> None:
        """Keep columns of the batch for the steps."""

    def gradient_norm(
        self, batch: TokenBatch, columns: Mapping[str, Tensor], loss: PolicyLossFunction
    ) -> float:
        """Return the norm of a loss's gradient for some sequences, without a step."""

    def step(self, rows: Tensor, weights: Tensor) -> dict[str, dict[str, float]]:
        """Take an optimiser step on some sequences; return metrics of `policy` and `critic`."""

    def unload(self) -> None:
        """Release the batch."""


class Driver(Protocol, Generic[R]):
    """The part of an iteration that depends on where it computes."""

    @property
    def pad(self) -> int:
        """Id on padding."""

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The model's tokenizer."""

    def play(self, number: int, clock: Clock) -> R:
        """Return the rollouts of an iteration, in a phase of the clock."""

    def log_probs(self, batch: TokenBatch) -> Tensor:
        """Return log-probabilities of sampled tokens under the current policy."""

    def load(self, rollouts: R, batch: TokenBatch, steps: Sequence[Tensor]) -> Models:
        """Load the tensors of the kept rollouts; `steps` are the sequences of each step."""

    def publish_weights(self, number: int, clock: Clock, *, learned: bool) -> None:
        """Give the policy's weights to the engines that sample, in a phase of the clock."""


class Clock:
    """Adds up the seconds of phases."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, phase: str) -> Iterator[None]:
        """Add the time of a block to a phase, which an error of the block names in a note."""
        start = time.perf_counter()
        try:
            yield
        except Exception as error:
            error.add_note(f"in {phase}")
            raise
        finally:
            seconds = time.perf_counter() - start
            self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds


def run_iteration(
    recipe: Recipe, settings: AdaptableSettings, number: int, driver: Driver[R]
) -> Iteration:
    """Play rollouts and learn from them, with settings that a warning may have changed."""
    clock = Clock()
    rollouts = driver.play(number, clock)
    played, kept = rollouts.played, rollouts.kept
    scales = find_reward_scales(recipe.mixture, played)
    metrics = iteration_metrics(recipe, played, scales, rollouts.replaced)
    if recipe.diagnostics.thoughts:
        with clock.measure("diagnostics"):
            metrics |= measure_thoughts(recipe, played, number, driver.tokenizer, driver.log_probs)
    metrics["filter/kept"] = len(kept) / len(played)
    if kept:
        with clock.measure("updates"):
            weighted, weighing = weigh_groups(recipe.filter, kept)
            batch = batch_of(scale_rewards(weighted, scales), driver.pad)
            of_run = {"size": recipe.mini_batch, "seed": recipe.seed}
            mini = mini_batches(batch.count, number, passes=settings.updates, **of_run)
            steps = [batch.rows_of(trajectories) for trajectories in mini]
            models = driver.load(rollouts, batch, steps)
            metrics |= update_models(recipe, number, batch, steps, models, metrics["filter/kept"])
            metrics |= weighing
            models.unload()
    driver.publish_weights(number, clock, learned=bool(kept))
    records = [trajectory.record for trajectory in played]
    return Iteration(number, bool(kept), metrics, clock.seconds, records, rollouts.error)


def update_models(
    recipe: Recipe,
    number: int,
    batch: TokenBatch,
    steps: Sequence[Tensor],
    models: Models,
    kept: float,
) -> dict[str, float]:
    """Take all optimiser steps of an iteration; `kept` is the fraction that the filter kept."""
    columns, correction = compute_columns(recipe, number, batch, models, kept)
    models.store(columns)
    uncut = find_trained_tokens(recipe.loss, batch)
    within, rejection = reject_tokens(recipe.correction, columns["old_log_probs"], batch)
    trained = uncut * within
    gradients: dict[str, float] = {}
    if buckets := recipe.diagnostics.gradients:
        gradients = measure_gradients(
            recipe.loss, buckets, batch, trained, columns, models.gradient_norm
        )
    step_metrics, trained_tokens, taken = StepMetrics(), 0, 0
    for rows in steps:
        if not trained[rows].any():
            continue  # only the optimiser's momentum and decay would move the weights
        taken += 1
        trained_tokens += int(trained[rows].sum())
        weights = token_weights(
            trained[rows], recipe.loss.aggregation, recipe.loss.horizon, batch.trajectories[rows]
        )
        metrics = {
            f"{model}/{name}": value
            for model, values in models.step(rows, weights).items()
            for name, value in values.items()
        }
        step_metrics.add(metrics, int(batch.mask[rows].sum()))
    gap, masked = {}, {}
    if models.measures_gap:
        difference = columns["old_log_probs"] - batch.log_probs
        gap = {"policy/engine_gap": float(difference.abs().max())}
    if recipe.loss.mask_truncated or recipe.loss.mask_void_turns:
        masked = {"loss/masked": 1 - int(uncut.sum()) / int(batch.mask.sum())}
    return {
        **step_metrics.means(),
        **correction,
        **rejection,
        **gradients,
        **gap,
        **masked,
        "steps": taken,
        "trained_tokens": trained_tokens,
    }


def compute_columns(
    recipe: Recipe, number: int, batch: TokenBatch, models: Models, kept: float
) -> tuple[dict[str, Tensor], dict[str, float]]:
    """Compute the inputs of the losses before the first step, and metrics of the correction."""
    old_log_probs, reference = models.old_log_probs(), models.reference_log_probs()
    values = models.values()
    advantages, returns = compute_advantages(recipe.advantage, batch, values)
    advantages = advantages * recipe.filter.advantage_factor(kept) * batch.weights[:, None]
    corrected, metrics = correct_gap(recipe.correction, advantages, old_log_probs, batch)
    columns = {"advantages": corrected, "old_log_probs": old_log_probs}
    optional = optional_columns(recipe.loss, recipe.correction)
    if "sequences" in optional:
        columns["sequences"] = number_sequences(recipe.loss, batch)
    if "noise" in optional:
        stream = RandomStream("loss", recipe.seed, str(number))
        noise = torch.Generator().manual_seed(stream.word() >> 1)
        columns["noise"] = torch.rand(batch.mask.shape, generator=noise)
    if CORRECTION in optional:
        ones = torch.ones_like(advantages)
        columns[CORRECTION] = correct_gap(recipe.correction, ones, old_log_probs, batch)[0]
    if values is not None and returns is not None:
        columns |= {"old_values": values, "returns": returns}
    if reference is not None:
        columns[REFERENCE] = reference
    return columns, metrics
