"""The replay buffer that hands verl whole groups of rollouts, chosen by the recipe's filter."""

from __future__ import annotations

import pickle
from typing import Any

import transfer_queue as tq
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

from ragen_starpo.algorithms.selection import chosen
from ragen_starpo.cluster.names import TRAIN
from ragen_starpo.recipes.sections import FilterSettings
from ragen_starpo.rollout.trajectory import TokenTrajectory

_POLL = 0.05
"""Seconds between two looks for rollouts; verl's 2 are longer than a small model's iteration."""


_EXTRA = "extra_fields"
"""The field of verl's rows that carries what its own fields have no place for."""


class RolloutError(RuntimeError):
    """An episode ended in an error, which verl wrote to Ray's logs."""


class GroupSampler(ReplayBuffer):
    """Waits for all groups of an iteration, and keeps those that say most.

    Args:
        sampler_kwargs: the settings of a `FilterSettings`.
        settings: verl's own of a replay buffer.

    Attributes:
        played: the trajectories of the latest sample before any filter, by group and rollout.
        kept: those of them that the filter left, in the order of the rows that are returned.
    """

    def __init__(self, sampler_kwargs: Any, **settings: Any) -> None:
        super().__init__(sampler_kwargs=sampler_kwargs, poll_interval=_POLL, **settings)
        self._filter = FilterSettings(**sampler_kwargs)
        self.played: list[TokenTrajectory] = []
        self.kept: list[TokenTrajectory] = []

    def sample(
        self,
        global_steps: int,  # noqa: ARG002 - verl's name
        partition_id: str,
        batch_size: int,
    ) -> tuple[KVBatchMeta, dict[str, float]]:
        """Return the rollouts that are learned from, in the order of `played`, and their share.

        Validation keeps all of them.

        Args:
            global_steps: the iteration.
            partition_id: `train` or `val`.
            batch_size: groups to wait for.

        Raises:
            RolloutError: if an episode failed.
            UserError: if no prompt left room for an answer.
        """
        self._wait(partition_id, batch_size)
        keys = sorted(self.partitions[partition_id], key=_order)
        fields = tq.kv_batch_get(keys=keys, partition_id=partition_id, select_fields=[_EXTRA])
        self.played = [pickle.loads(extra["trajectory"]) for extra in list(fields[_EXTRA])]
        tags = [self.partitions[partition_id][key] for key in keys]
        learned = partition_id == TRAIN
        kept = chosen(self._filter, self.played) if learned else [True] * len(keys)
        batch = KVBatchMeta(
            partition_id=partition_id,
            keys=[key for key, keep in zip(keys, kept, strict=True) if keep],
            tags=[tag for tag, keep in zip(tags, kept, strict=True) if keep],
        )
        self.kept = [played for played, keep in zip(self.played, kept, strict=True) if keep]
        dropped = [key for key, keep in zip(keys, kept, strict=True) if not keep]
        groups = {key.partition("_")[0] for key in keys}
        tq.kv_clear(keys=[*groups, *dropped], partition_id=partition_id)
        return batch, {"filter/kept": len(batch.keys) / len(keys)}

    def _wait(self, partition_id: str, groups: int) -> None:
        since = 0.0
        while True:
            self._sync_metadata_from_transfer_queue()  # type: ignore[no-untyped-call]
            if self.failure_keys[partition_id]:
                raise RolloutError("an episode ended in an error; Ray's logs have its traceback")
            if len(self.finished_keys[partition_id]) >= groups:
                return
            since = self._wait_for_next_poll(partition_id, since)


def _order(key: str) -> tuple[str, int]:
    """Return where a rollout stands: verl's names are `group_rollout_part`."""
    group, rollout, _ = key.rsplit("_", 2)
    return group, int(rollout)
