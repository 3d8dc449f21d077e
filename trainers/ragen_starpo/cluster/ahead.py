"""The file of a checkpoint with rollouts that were played ahead: JSON, which runs no code."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import transfer_queue as tq
from pydantic import TypeAdapter, ValidationError
from transfer_queue import KVBatchMeta
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from ragen_bench.errors import UserError
from ragen_bench.reading import parse_json, read_bytes
from ragen_bench.runs.checked import first_flaw
from ragen_bench.runs.json_lines import to_line
from ragen_starpo.cluster.agent_loop import SUCCESS, make_rows
from ragen_starpo.cluster.learner import QueuedRollouts
from ragen_starpo.cluster.names import TRAIN
from ragen_starpo.rollout.trajectory import TokenTrajectory


@dataclass(frozen=True)
class _File:
    """The rollouts, the places of the kept ones among them, and the keys of their rows."""

    played: list[TokenTrajectory]
    kept: list[int]
    keys: list[str]
    error: str | None
    replaced: int


_FILE = TypeAdapter(_File)
_LARGEST = 4 << 30
"""Bytes of a file; a token takes some 30."""


def write_rollouts(file: Path, rollouts: QueuedRollouts) -> None:
    """Write the rollouts; their rows stay in the queue."""
    places = {id(one): place for place, one in enumerate(rollouts.played)}
    content = _File(
        _number_states(rollouts.played),
        [places[id(one)] for one in rollouts.kept],
        rollouts.rows.keys,
        rollouts.error,
        rollouts.replaced,
    )
    file.write_bytes(to_line(_FILE.dump_python(content, mode="json", by_alias=True)))


def read_rollouts(file: Path) -> QueuedRollouts:
    """Return the rollouts of a file, and put their rows in the queue; UserError if it has none."""
    try:
        content = _FILE.validate_python(parse_json(read_bytes(file, _LARGEST)))
        kept = [content.played[place] for place in content.kept]
        rows = [row for one in kept for row in make_rows(one)]
        if len(rows) != len(content.keys):
            raise ValueError(f"{len(rows)} rows have {len(content.keys)} keys")
    except ValidationError as error:
        flaw = first_flaw(error)
        raise _refuse(file, f"{flaw.path} {flaw.reason}") from None
    except (IndexError, ValueError) as error:
        raise _refuse(file, str(error)) from None
    tags = [dict(SUCCESS) for _ in rows]
    if rows:
        fields = list_of_dict_to_tensordict(rows)
        tq.kv_batch_put(keys=content.keys, partition_id=TRAIN, fields=fields, tags=tags)
    meta = KVBatchMeta(partition_id=TRAIN, keys=content.keys, tags=tags)
    return QueuedRollouts(content.played, kept, content.error, meta, replaced=content.replaced)


def _number_states(trajectories: Sequence[TokenTrajectory]) -> list[TokenTrajectory]:
    known: dict[Hashable, int] = {}
    return [
        replace(
            trajectory,
            turns=tuple(
                replace(turn, state=known.setdefault(turn.state, len(known)))
                for turn in trajectory.turns
            ),
        )
        for trajectory in trajectories
    ]


def _refuse(file: Path, reason: str) -> UserError:
    return UserError(f"{file} does not hold rollouts: {reason}; choose another --out")
