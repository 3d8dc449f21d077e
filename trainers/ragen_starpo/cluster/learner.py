"""verl's workers and queue as the models of `ragen_starpo.iteration`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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

from ragen_starpo.cluster.columns import divide_rows, responses_of
from ragen_starpo.cluster.losses import (
    CRITIC_COLUMNS,
    POLICY_COLUMNS,
    REFERENCE,
    compute_means,
    critic_loss,
    policy_loss,
)
from ragen_starpo.cluster.rollouts import QueuedRollouts
from ragen_starpo.diagnostics.monitor import AdaptableSettings
from ragen_starpo.engine.computing import Computing
from ragen_starpo.engine.rows import limit_of
from ragen_starpo.engine.worker import PolicyLossFunction
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.rollout.trajectory import TokenBatch

_INPUTS = ("input_ids", "position_ids", "prompts", "responses", "response_mask", "loss_mask")
"""Fields of a row that verl's engines read."""


@dataclass(frozen=True)
class Processes:
    """verl's groups of `ranks` processes; those of the policy hold the reference, if there is one.

    `adapted`: the policy has adapters, and is its own reference without them.
    """

    policy: Any
    critic: Any
    ranks: int
    adapted: bool


class Learner:
    """Computes with the models of verl's processes; `settings` are those of the next iteration."""

    def __init__(
        self, recipe: Recipe, processes: Processes, pad: int, computing: Computing
    ) -> None:
        self.recipe, self.processes, self.pad, self.computing = recipe, processes, pad, computing
        self.settings = AdaptableSettings(recipe.rollouts.temperature, recipe.updates)
        processes.policy.set_loss_fn(partial(policy_loss, recipe.loss))
        if processes.critic is not None:
            processes.critic.set_loss_fn(partial(critic_loss, recipe.loss))

    def log_probs(self, batch: TokenBatch) -> Tensor:
        """Return log-probabilities of sampled tokens under the current policy, 0 elsewhere.

        The sequences need not be in the queue.
        """
        shards = self.processes.policy.log_probs(
            batch.rows(self._pad_to_ranks(len(batch))),
            self.recipe.micro_batch,
            self.settings.temperature,
            self.computing,
        )
        return torch.cat(shards)[: len(batch)]

    def gradient_norm(
        self, batch: TokenBatch, columns: Mapping[str, Tensor], loss: PolicyLossFunction
    ) -> float:
        """Return the norm of a loss's gradient under the current policy, without a step."""
        rows = self._pad_to_ranks(len(batch))
        padded = {name: column[rows] for name, column in columns.items()}
        padded["weights"][len(batch) :] = 0
        norms: list[float] = self.processes.policy.gradient_norm(
            batch.rows(rows),
            padded,
            loss,
            self.recipe.micro_batch,
            self.settings.temperature,
            self.computing,
        )
        return norms[0]

    def _pad_to_ranks(self, count: int) -> Tensor:
        """Return row indices, equally many per rank; the last one is repeated."""
        ranks = self.processes.ranks
        return torch.arange(-(-count // ranks) * ranks).clamp(max=count - 1)


class QueuedModels:
    """The models with a batch in verl's queue, see `ragen_starpo.iteration.Models`.

    The queue gets fillers for the largest step.
    """

    measures_gap = True

    def __init__(
        self,
        learner: Learner,
        rollouts: QueuedRollouts,
        batch: TokenBatch,
        steps: Sequence[Tensor],
    ) -> None:
        self._learner, self._processes, self._batch = learner, learner.processes, batch
        longest = int(batch.attention.sum(1).max())
        self._limit = limit_of(learner.recipe.micro_batch, learner.computing, longest)
        self._queued = self._add_fillers(rollouts.rows, [len(batch), *map(len, steps)])
        self._keys = self._queued.keys[: len(batch)]
        self._responses = responses_of(rollouts.kept)
        self._columns = [*POLICY_COLUMNS, *([REFERENCE] if learner.recipe.loss.kl else [])]

    def values(self) -> Tensor | None:
        """Return the critic's values; None without a critic."""
        critic = self._processes.critic
        return None if critic is None else self._infer(critic.infer_batch, "values")

    def old_log_probs(self) -> Tensor:
        """Return log-probabilities under the policy before the first step."""
        return self._infer(self._processes.policy.compute_log_prob, "log_probs")

    def reference_log_probs(self) -> Tensor | None:
        """Return log-probabilities under the reference; None without a KL term."""
        policy = self._processes.policy
        if not self._learner.recipe.loss.kl:
            return None
        if self._processes.adapted:
            return self._infer(policy.compute_log_prob, "log_probs", no_lora_adapter=True)
        return self._infer(policy.compute_ref_log_prob, "log_probs")

    def store(self, columns: Mapping[str, Tensor]) -> None:
        """Put columns of the batch in the queue."""
        tq.kv_batch_put(
            keys=self._queued.keys,
            partition_id=self._queued.partition_id,
            fields=self._responses.rows(columns, len(self._queued.keys) - len(self._keys)),
        )

    def gradient_norm(
        self, batch: TokenBatch, columns: Mapping[str, Tensor], loss: PolicyLossFunction
    ) -> float:
        """Return the norm of a loss's gradient for some sequences, without a step."""
        return self._learner.gradient_norm(batch, columns, loss)

    def step(self, rows: Tensor, weights: Tensor) -> dict[str, dict[str, float]]:
        """Take a step of the policy, and one of the critic."""
        all_weights = torch.zeros(self._batch.mask.shape, dtype=self._batch.log_probs.dtype)
        all_weights[rows] = weights
        self.store({"weights": all_weights})
        policy, critic = self._processes.policy, self._processes.critic
        metrics = {"policy": self._train(rows, policy.update_actor, self._columns)}
        if critic is not None:
            metrics["critic"] = self._train(rows, critic.train_mini_batch, CRITIC_COLUMNS)
        return metrics

    def unload(self) -> None:
        """Drop the rows from the queue."""
        tq.kv_clear(keys=self._queued.keys, partition_id=self._queued.partition_id)

    def _add_fillers(self, rows: KVBatchMeta, sizes: Sequence[int]) -> KVBatchMeta:
        """Return the rows with enough fillers for batches of these sizes."""
        fillers = max(divide_rows(size, self._processes.ranks, self._limit)[1] for size in sizes)
        if not fillers:
            return rows
        # verl's function knows all fields of a row; it fills up to a multiple.
        return upsample_batch_to_divisible_size(rows, len(rows.keys) + fillers, self._learner.pad)

    def _infer(self, call: Callable[[KVBatchMeta], Any], name: str, **extra: Any) -> Tensor:
        """Return a model's output for all rows, which verl leaves in the queue."""
        output = call(self._meta(range(len(self._keys)), _INPUTS, compute_loss=False, **extra))
        if hasattr(output, "futures"):
            ray.get(output.futures)
        outputs = tq.kv_batch_get(
            keys=self._keys, partition_id=self._queued.partition_id, select_fields=[name]
        )
        return self._responses.column(outputs[name], self._batch)

    def _train(
        self, rows: Tensor, call: Callable[[KVBatchMeta], Any], columns: Sequence[str]
    ) -> dict[str, float]:
        meta = self._meta(rows.tolist(), (*_INPUTS, *columns), epochs=1, seed=0)
        meta.extra_info |= {
            "mini_batch_size": len(meta.keys),
            "global_batch_size": len(meta.keys),
            "dataloader_kwargs": {"shuffle": False},
        }
        output = call(meta)
        if hasattr(output, "get") and hasattr(output, "futures"):
            output = output.get()
        return compute_means(tensordict_utils.get(output, "metrics"))

    def _meta(self, rows: Sequence[int], fields: Sequence[str], **extra: Any) -> KVBatchMeta:
        """Return rows for a call of verl's workers, filled up to equally many per rank."""
        size, fillers = divide_rows(len(rows), self._processes.ranks, self._limit)
        first_filler = len(self._keys)
        keys = [
            *(self._keys[row] for row in rows),
            *self._queued.keys[first_filler : first_filler + fillers],
        ]
        return KVBatchMeta(
            partition_id=self._queued.partition_id,
            keys=keys,
            tags=[{} for _ in keys],
            fields=list(fields),
            extra_info={
                "calculate_entropy": True,
                "temperature": self._learner.settings.temperature,
                **self._limit.division(size),
                **extra,
            },
        )
