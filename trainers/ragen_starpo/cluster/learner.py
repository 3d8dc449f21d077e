"""verl's workers and queue as the models of `ragen_starpo.iteration`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import ray
import torch
import transfer_queue as tq
from tensordict import TensorDict
from torch import Tensor
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.padding_utils import (
    SYNTHETIC_PADDING_SEQ_LEN,
    upsample_batch_to_divisible_size,
)
from verl.utils import tensordict_utils

from ragen_starpo.cluster.names import MEAN, TOKENS
from ragen_starpo.cluster.passes import QUEUED_INPUTS
from ragen_starpo.cluster.rows import Limit, limit_of, micro_batches
from ragen_starpo.diagnostics.monitor import AdaptableSettings
from ragen_starpo.engine.computing import Computing
from ragen_starpo.engine.worker import PolicyLossFunction
from ragen_starpo.iteration import Rollouts
from ragen_starpo.objective import optional_columns, policy_contribution, value_contribution
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.rollout.trajectory import TokenBatch, TokenTrajectory

POLICY_COLUMNS = ("advantages", "old_log_probs", "weights")
CRITIC_COLUMNS = ("old_values", "returns", "weights")


@dataclass(frozen=True)
class QueuedRollouts(Rollouts):
    """The rollouts of an iteration, and the rows of the kept ones in verl's queue, in order."""

    rows: KVBatchMeta


@dataclass
class Learner:
    """Computes with the models of verl's groups of `ranks` processes.

    Those of the policy hold the reference, if there is one; with adapters, the policy is its
    own reference without them. `settings` are those of the next iteration.
    """

    recipe: Recipe
    policy: Any
    critic: Any
    ranks: int
    adapted: bool
    pad: int
    computing: Computing

    def __post_init__(self) -> None:
        self.settings = AdaptableSettings.of(self.recipe)
        self.policy.set_loss_fn(partial(policy_contribution, self.recipe.loss))
        if self.critic is not None:
            self.critic.set_loss_fn(partial(value_contribution, self.recipe.loss))

    def log_probs(self, batch: TokenBatch) -> Tensor:
        """Return log-probabilities of sampled tokens under the current policy, 0 elsewhere."""
        shards = self.policy.log_probs(
            batch.rows(self.pad_to_ranks(len(batch))),
            self.recipe.micro_batch,
            self.settings.temperature,
            self.computing,
        )
        return torch.cat(shards)[: len(batch)]

    def pad_to_ranks(self, count: int) -> Tensor:
        """Return row indices, equally many per rank; the last one is repeated."""
        return torch.arange(-(-count // self.ranks) * self.ranks).clamp(max=count - 1)


class QueuedModels:
    """The models with a batch in verl's queue, which gets fillers for the largest step."""

    measures_gap = True

    def __init__(
        self,
        learner: Learner,
        rollouts: QueuedRollouts,
        batch: TokenBatch,
        steps: Sequence[Tensor],
    ) -> None:
        self._learner, self._batch = learner, batch
        lengths: list[int] = batch.attention.sum(1).tolist()
        self._limit = limit_of(learner.recipe.micro_batch, learner.computing, max(lengths))
        self._queued = rollouts.rows
        sizes = [len(batch), *map(len, steps)]
        fillers = max(divide_rows(size, self._learner.ranks, self._limit)[1] for size in sizes)
        self._lengths = [*lengths, *[SYNTHETIC_PADDING_SEQ_LEN] * fillers]
        if fillers:
            # verl's function knows all fields of a row; it fills up to a multiple.
            self._queued = upsample_batch_to_divisible_size(
                rollouts.rows, len(rollouts.rows.keys) + fillers, learner.pad
            )
        self._keys = self._queued.keys[: len(batch)]
        self._responses = responses_of(rollouts.kept)
        recipe = learner.recipe
        self._columns = [*POLICY_COLUMNS, *optional_columns(recipe.loss, recipe.correction)]

    def values(self) -> Tensor | None:
        critic = self._learner.critic
        return None if critic is None else self._infer(critic.infer_batch, "values")

    def old_log_probs(self) -> Tensor:
        return self._infer(self._learner.policy.compute_log_prob, "log_probs")

    def reference_log_probs(self) -> Tensor | None:
        policy = self._learner.policy
        if not self._learner.recipe.loss.kl:
            return None
        if self._learner.adapted:
            return self._infer(policy.compute_log_prob, "log_probs", no_lora_adapter=True)
        return self._infer(policy.compute_ref_log_prob, "log_probs")

    def store(self, columns: Mapping[str, Tensor]) -> None:
        tq.kv_batch_put(
            keys=self._queued.keys,
            partition_id=self._queued.partition_id,
            fields=self._responses.rows(columns, len(self._queued.keys) - len(self._keys)),
        )

    def gradient_norm(
        self, batch: TokenBatch, columns: Mapping[str, Tensor], loss: PolicyLossFunction
    ) -> float:
        learner = self._learner
        rows = learner.pad_to_ranks(len(batch))
        padded = {name: column[rows] for name, column in columns.items()}
        padded["weights"][len(batch) :] = 0
        recipe, temperature = learner.recipe, learner.settings.temperature
        norms: list[float] = learner.policy.gradient_norm(
            batch.rows(rows), padded, loss, recipe.micro_batch, temperature, learner.computing
        )
        return norms[0]

    def step(self, rows: Tensor, weights: Tensor) -> dict[str, dict[str, float]]:
        all_weights = torch.zeros(self._batch.mask.shape, dtype=self._batch.log_probs.dtype)
        all_weights[rows] = weights
        self.store({"weights": all_weights})
        policy, critic = self._learner.policy, self._learner.critic
        metrics = {"policy": self._train(rows, policy.update_actor, self._columns)}
        if critic is not None:
            metrics["critic"] = self._train(rows, critic.train_mini_batch, CRITIC_COLUMNS)
        return metrics

    def unload(self) -> None:
        tq.kv_clear(keys=self._queued.keys, partition_id=self._queued.partition_id)

    def _infer(self, call: Callable[[KVBatchMeta], Any], name: str, **extra: object) -> Tensor:
        """Return a model's output for all rows, which verl leaves in the queue."""
        output = call(
            self._meta(range(len(self._keys)), QUEUED_INPUTS, compute_loss=False, **extra)
        )
        if hasattr(output, "futures"):
            ray.get(output.futures)
        outputs = tq.kv_batch_get(
            keys=self._keys, partition_id=self._queued.partition_id, select_fields=[name]
        )
        return self._responses.column(outputs[name], self._batch)

    def _train(
        self, rows: Tensor, call: Callable[[KVBatchMeta], Any], columns: Sequence[str]
    ) -> dict[str, float]:
        meta = self._meta(rows.tolist(), (*QUEUED_INPUTS, *columns), epochs=1, seed=0)
        meta.extra_info |= {
            "mini_batch_size": len(meta.keys),
            "global_batch_size": len(meta.keys),
            "dataloader_kwargs": {"shuffle": False},
        }
        output = call(meta)
        if hasattr(output, "get") and hasattr(output, "futures"):
            output = output.get()
        return compute_means(tensordict_utils.get(output, "metrics"))

    def _meta(self, rows: Sequence[int], fields: Sequence[str], **extra: object) -> KVBatchMeta:
        """Return rows for a call of verl's workers, filled up to equally many per rank."""
        ranks = self._learner.ranks
        size, fillers = divide_rows(len(rows), ranks, self._limit)
        first_filler = len(self._keys)
        all_rows = [*rows, *range(first_filler, first_filler + fillers)]
        keys = [self._queued.keys[row] for row in deal_rows(all_rows, self._lengths, ranks)]
        return KVBatchMeta(
            partition_id=self._queued.partition_id,
            keys=keys,
            tags=[{} for _ in keys],
            fields=list(fields),
            extra_info={
                "temperature": self._learner.settings.temperature,
                **self._limit.division(size),
                **extra,
            },
        )


@dataclass(frozen=True)
class Responses:
    """Start and exclusive end of each row's response, the tokens after the first prompt."""

    spans: tuple[tuple[int, int], ...]

    def rows(self, columns: Mapping[str, Tensor], fillers: int) -> TensorDict:
        """Return (sequences, tokens) columns as jagged responses, then fillers with one 0 each."""
        jagged = {}
        for name, column in columns.items():
            rows = [column[row, start:end] for row, (start, end) in enumerate(self.spans)]
            rows += [column.new_zeros(1)] * fillers
            jagged[name] = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
        return TensorDict(jagged, batch_size=[len(self.spans) + fillers])

    def column(self, outputs: Tensor, batch: TokenBatch) -> Tensor:
        """Return an engine's outputs as (sequences, tokens), 0 except on sampled tokens.

        They are jagged over whole rows, possibly followed by fillers; position t is about
        token t + 1.
        """
        column = torch.zeros(batch.mask.shape)
        for row, (output, (start, end)) in enumerate(
            zip(outputs.unbind(), self.spans, strict=False)
        ):
            column[row, start:end] = output[start - 1 : end - 1].float()
        return column.where(batch.mask.bool(), 0.0)


def responses_of(trajectories: Sequence[TokenTrajectory]) -> Responses:
    """Return the responses of trajectories; each sequence must have a turn."""
    rows = [row for trajectory in trajectories for row in trajectory.sequences]
    return Responses(tuple((len(row.turns[0].observed), len(row.ids)) for row in rows))


def deal_rows(rows: Sequence[int], lengths: Sequence[int], ranks: int) -> list[int]:
    """Return the rows of all ranks one after the other, each from the longest to the shortest.

    So rows of similar length share a micro-batch, and all ranks have similar work.
    """
    ordered = sorted(rows, key=lambda row: -lengths[row])
    return [row for rank in range(ranks) for row in ordered[rank::ranks]]


def divide_rows(rows: int, ranks: int, limit: Limit) -> tuple[int, int]:
    """Return the size of micro-batches, and the number of fillers.

    All ranks get equally many rows, in the fewest micro-batches of equal size. With a token
    limit, a rank's rows are one micro-batch, which verl divides.
    """
    per_rank = -(-rows // ranks)
    size, extra = micro_batches(per_rank, limit.rows if limit.tokens is None else per_rank)
    return size, ranks * (per_rank + extra) - rows


def compute_means(metrics: Mapping[str, float | list[float]]) -> dict[str, float]:
    """Return a mini-batch's metrics from verl's sums, as `Policy.update` has them but the rate."""
    tokens = _unpack(metrics[TOKENS])
    return {
        name.removeprefix(MEAN): _unpack(value) / tokens
        for name, value in metrics.items()
        if name.startswith(MEAN)
    } | {name: _unpack(metrics[name]) for name in ("loss", "grad_norm")}


def _unpack(value: float | list[float]) -> float:
    (metric,) = value if isinstance(value, list) else [value]
    return float(metric)
