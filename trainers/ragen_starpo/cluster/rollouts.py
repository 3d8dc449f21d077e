"""Rollouts in verl's queue, and their file in a checkpoint where they were played ahead."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import transfer_queue as tq
from transfer_queue import KVBatchMeta

from ragen_starpo.iteration import Rollouts


@dataclass(frozen=True)
class QueuedRollouts(Rollouts):
    """The rollouts of an iteration, and the rows of the kept ones in verl's queue, in order."""

    rows: KVBatchMeta

    def save(self, file: Path) -> None:
        """Write them with their rows, which stay in the queue."""
        fields: Any = None
        if self.rows.keys:
            fields = tq.kv_batch_get(keys=self.rows.keys, partition_id=self.rows.partition_id)
        torch.save((self, fields), file)


def load_rollouts(file: Path) -> QueuedRollouts:
    """Return the rollouts of a file, and put their rows in the queue again.

    The file is unpickled: load only files that you wrote yourself.
    """
    rollouts: QueuedRollouts
    rollouts, fields = torch.load(file, weights_only=False)
    rows = rollouts.rows
    if rows.keys:
        tq.kv_batch_put(
            keys=rows.keys, partition_id=rows.partition_id, fields=fields, tags=rows.tags
        )
    return rollouts
