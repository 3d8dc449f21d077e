"""The rollouts of an iteration, as a checkpoint keeps those that were played one ahead."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transfer_queue as tq
from transfer_queue import KVBatchMeta

from ragen_starpo.rollout.trajectory import TokenTrajectory


@dataclass(frozen=True)
class Rollouts:
    """What an iteration learns from.

    Attributes:
        rows: in verl's queue, of the trajectories that the filter kept.
        played: trajectories before any filter, by group and rollout.
        kept: those of the rows, in their order.
        error: of the first episode that failed, None if all ended well.
    """

    rows: KVBatchMeta
    played: list[TokenTrajectory]
    kept: list[TokenTrajectory]
    error: str | None

    def save(self, file: Path) -> None:
        """Write them with their rows, which stay in the queue."""
        fields: Any = None
        if self.rows.keys:
            fields = tq.kv_batch_get(keys=self.rows.keys, partition_id=self.rows.partition_id)
        torch.save((self, fields), file)


def load_rollouts(file: Path) -> Rollouts:
    """Return the rollouts of a file, whose rows are put in the queue again.

    It is unpickled, so load only what you wrote yourself.
    """
    rollouts: Rollouts
    rollouts, fields = torch.load(file, weights_only=False)
    rows = rollouts.rows
    if rows.keys:
        tq.kv_batch_put(
            keys=rows.keys, partition_id=rows.partition_id, fields=fields, tags=rows.tags
        )
    return rollouts
