"""Learns from an iteration's rollouts: the same steps as in one process, on verl's workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import ray
import torch
import transfer_queue as tq
from torch import Tensor
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.padding_utils import upsample_batch_to_divisible_size
from verl.utils import tensordict_utils

from ragen_starpo.algorithms.aggregation import token_weights
from ragen_starpo.algorithms.mini_batches import mini_batches
from ragen_starpo.cluster.columns import Responses, filled_up, responses_of
from ragen_starpo.cluster.losses import (
    CRITIC_COLUMNS,
    POLICY_COLUMNS,
    REFERENCE,
    critic_loss,
    means,
    policy_loss,
)
from ragen_starpo.diagnostics.adaptation import AdaptableSettings
from ragen_starpo.diagnostics.gradients import gradient_figures
from ragen_starpo.diagnostics.step_metrics import StepFigures
from ragen_starpo.engine.computing import Computing
from ragen_starpo.engine.rows import Limit, limit_of
from ragen_starpo.engine.worker import PolicyLossFunction
from ragen_starpo.objective import compute_advantages, correct_gap
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.rollout.trajectory import TokenBatch, TokenTrajectory, batch_of

_INPUTS = (*("input_ids", "position_ids", "prompts", "responses", "response_mask", "loss_mask"),)
"""What verl's engines read of a row."""


@dataclass(frozen=True)
class Processes:
    """verl's groups of processes.

    Attributes:
        policy: trains the policy; has the reference, if there is one.
        critic: None without one.
        ranks: processes of a group.
        adapted: whether the policy has adapters, so that it is its own reference without them.
    """

    policy: Any
    critic: Any
    ranks: int
    adapted: bool


class Learner:
    """Takes the steps of iterations.

    Args:
        recipe: of the run.
        processes: with their models.
        filler: the id of the tokens that fill up batches.
        computing: of the models.

    Attributes:
        settings: that the next iteration is learned by.
    """

    def __init__(
        self, recipe: Recipe, processes: Processes, filler: int, computing: Computing
    ) -> None:
        self.settings = AdaptableSettings(recipe.rollouts.temperature, recipe.updates)
        self._recipe, self._processes, self._filler = recipe, processes, filler
        self._computing = computing
        processes.policy.set_loss_fn(partial(policy_loss, recipe.loss))
        if processes.critic is not None:
            processes.critic.set_loss_fn(partial(critic_loss, recipe.loss))

    def learn(
        self,
        rows: KVBatchMeta,
        trajectories: Sequence[TokenTrajectory],
        iteration: int,
        share: float,
    ) -> dict[str, float]:
        """Take all steps of an iteration, and return its figures.

        Args:
            rows: in verl's queue, the sequences of the trajectories; they are dropped from it.
            trajectories: in the order of their rows.
            iteration: from 0 on.
            share: of those that were played.
        """
        batch = batch_of(trajectories, self._filler)
        recipe, passes = self._recipe, self.settings.updates
        batches = mini_batches(
            batch.count, iteration, size=recipe.mini_batch, passes=passes, seed=recipe.seed
        )
        steps = [batch.rows_of(chosen) for chosen in batches]
        longest = int(batch.attention.sum(1).max())
        limit = limit_of(recipe.micro_batch, self._computing, longest)
        filled = self._with_fillers(rows, [len(rows.keys), *map(len, steps)], limit)
        keys, fillers = filled.keys[: len(batch)], filled.keys[len(batch) :]
        work = _Rows(filled.partition_id, keys, fillers, responses_of(trajectories), batch, limit)
        columns, correction = self._columns(work, share)
        measured: dict[str, float] = {}
        if recipe.diagnostics.gradients:
            buckets = recipe.diagnostics.gradients
            measured = gradient_figures(recipe.loss, buckets, batch, columns, self._gradient_norm)
        figures = StepFigures()
        for chosen in steps:
            figures.add(self._step(work, columns, chosen), int(batch.mask[chosen].sum()))
        tq.kv_clear(keys=filled.keys, partition_id=filled.partition_id)
        gap = (columns["old_log_probs"] - batch.log_probs).abs().max()
        trained = passes * int(batch.mask.sum())
        return {
            **figures.means(),
            **correction,
            **measured,
            "policy/engine_gap": float(gap),
            "steps": len(steps),
            "trained_tokens": trained,
        }

    def log_probs(self, batch: TokenBatch) -> Tensor:
        """Return log-probabilities of a batch's sampled tokens by the policy as it is; 0 elsewhere.

        Args:
            batch: need not be of the queue.
        """
        told = self._processes.policy.log_probs(
            batch.rows(self._for_ranks(len(batch))),
            self._recipe.micro_batch,
            self.settings.temperature,
            self._computing,
        )
        return torch.cat(told)[: len(batch)]

    def _gradient_norm(
        self, batch: TokenBatch, columns: Mapping[str, Tensor], loss: PolicyLossFunction
    ) -> float:
        """Return the norm of the gradient of a loss by the policy as it is; take no step."""
        rows = self._for_ranks(len(batch))
        own = {name: column[rows] for name, column in columns.items()}
        own["weights"][len(batch) :] = 0
        norms: list[float] = self._processes.policy.gradient_norm(
            batch.rows(rows),
            own,
            loss,
            self._recipe.micro_batch,
            self.settings.temperature,
            self._computing,
        )
        return norms[0]

    def _for_ranks(self, count: int) -> Tensor:
        """Return rows, as many for each rank; the last one is repeated where they are too few."""
        ranks = self._processes.ranks
        return torch.arange(-(-count // ranks) * ranks).clamp(max=count - 1)

    def _with_fillers(self, rows: KVBatchMeta, sizes: Sequence[int], limit: Limit) -> KVBatchMeta:
        """Return the rows with enough fillers for batches of these sizes."""
        fillers = max(filled_up(size, self._processes.ranks, limit)[1] for size in sizes)
        if not fillers:
            return rows
        # By verl's function, which knows all fields of a row; it fills up to a multiple.
        return upsample_batch_to_divisible_size(rows, len(rows.keys) + fillers, self._filler)

    def _columns(self, work: _Rows, share: float) -> tuple[dict[str, Tensor], dict[str, float]]:
        """Return what the losses need, computed before the first step, and the gap's figures.

        The columns are put in the queue.
        """
        (old,) = self._outputs(work, self._processes.policy.compute_log_prob, "log_probs")
        columns = {"old_log_probs": old}
        if self._recipe.loss.kl:
            columns[REFERENCE] = self._reference(work)
        values = None
        if self._processes.critic is not None:
            (values,) = self._outputs(work, self._processes.critic.infer_batch, "values")
        advantages, returns = compute_advantages(self._recipe.advantage, work.batch, values)
        advantages = advantages * self._recipe.filter.advantage_factor(share)
        columns["advantages"], figures = correct_gap(
            self._recipe.correction, advantages, old, work.batch
        )
        if values is not None and returns is not None:
            columns |= {"old_values": values, "returns": returns}
        work.put(columns)
        return columns, figures

    def _reference(self, work: _Rows) -> Tensor:
        if self._processes.adapted:
            call, own = self._processes.policy.compute_log_prob, {"no_lora_adapter": True}
        else:
            call, own = self._processes.policy.compute_ref_log_prob, {}
        (log_probs,) = self._outputs(work, call, "log_probs", **own)
        return log_probs

    def _outputs(self, work: _Rows, call: Any, *names: str, **extra: Any) -> list[Tensor]:
        """Return what a model says of all rows."""
        rows = self._meta(work, range(len(work.keys)), _INPUTS, compute_loss=False, **extra)
        output = call(rows)
        if hasattr(output, "futures"):
            ray.get(output.futures)
        outputs = tq.kv_batch_get(
            keys=work.keys, partition_id=work.partition, select_fields=list(names)
        )
        return [work.responses.column(outputs[name], work.batch) for name in names]

    def _step(self, work: _Rows, columns: dict[str, Tensor], chosen: Tensor) -> dict[str, float]:
        """Take one step of the policy, and one of the critic."""
        some, loss = chosen.tolist(), self._recipe.loss
        weights = columns["old_log_probs"].new_zeros(work.batch.mask.shape)
        learned = work.batch.rows(chosen)
        weights[chosen] = token_weights(
            learned.mask, loss.aggregation, loss.horizon, learned.trajectories
        )
        work.put({"weights": weights})
        names = [*POLICY_COLUMNS, *([REFERENCE] if self._recipe.loss.kl else [])]
        figures = self._updated(work, some, self._processes.policy.update_actor, names)
        metrics = {f"policy/{name}": value for name, value in figures.items()}
        if self._processes.critic is not None:
            train = self._processes.critic.train_mini_batch
            figures = self._updated(work, some, train, CRITIC_COLUMNS)
            metrics |= {f"critic/{name}": value for name, value in figures.items()}
        return metrics

    def _updated(
        self, work: _Rows, chosen: Sequence[int], call: Any, names: Sequence[str]
    ) -> dict[str, float]:
        rows = self._meta(work, chosen, (*_INPUTS, *names), epochs=1, seed=0)
        rows.extra_info |= {
            "mini_batch_size": len(rows.keys),
            "global_batch_size": len(rows.keys),
            "dataloader_kwargs": {"shuffle": False},
        }
        output = call(rows)
        if hasattr(output, "get") and hasattr(output, "futures"):
            output = output.get()
        return means(tensordict_utils.get(output, "metrics"))

    def _meta(
        self, work: _Rows, chosen: Sequence[int], fields: Sequence[str], **extra: Any
    ) -> KVBatchMeta:
        """Return rows, filled up so that all ranks get as many, for a call of verl's workers."""
        size, fillers = filled_up(len(chosen), self._processes.ranks, work.limit)
        keys = [*(work.keys[row] for row in chosen), *work.fillers[:fillers]]
        return KVBatchMeta(
            partition_id=work.partition,
            keys=keys,
            tags=[{} for _ in keys],
            fields=list(fields),
            extra_info={
                "calculate_entropy": True,
                "temperature": self.settings.temperature,
                **work.limit.division(size),
                **extra,
            },
        )


@dataclass(frozen=True)
class _Rows:
    """The rows of an iteration in verl's queue.

    Attributes:
        partition: of the queue.
        keys: of the sequences, in the order of `batch`.
        fillers: of the rows that fill up batches.
        responses: where responses stand.
        batch: the sequences.
        limit: of micro-batches.
    """

    partition: str
    keys: list[str]
    fillers: list[str]
    responses: Responses
    batch: TokenBatch
    limit: Limit

    def put(self, columns: dict[str, Tensor]) -> None:
        tq.kv_batch_put(
            keys=[*self.keys, *self.fillers],
            partition_id=self.partition,
            fields=self.responses.rows(columns, len(self.fillers)),
        )
