"""The replay buffer that gives verl whole groups of rollouts, selected by the recipe's filter."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Sequence
from typing import Any

import ray
import transfer_queue as tq
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

from ragen_bench.errors import UserError
from ragen_starpo.cluster.names import TRAIN
from ragen_starpo.recipes.sections import FilterSettings
from ragen_starpo.rollout.selection import (
    Ended,
    FailedEpisode,
    complete_groups,
    first_error,
    raise_mistakes,
    select_rollouts,
)
from ragen_starpo.rollout.trajectory import TokenTrajectory

_POLL = 0.05
"""Seconds between two checks for rollouts; verl's 2 exceed a small model's iteration."""
_EXTRA = "extra_fields"
"""Field of verl's rows for data that its own fields cannot hold."""
_IN_VERL = FailedEpisode("an error in verl, whose traceback is in Ray's logs")


class GroupSampler(ReplayBuffer):
    """Waits for all groups of an iteration, and filters them.

    Of the latest sample, `played` has the trajectories before the filter, by group and rollout,
    without failed groups; `kept` those that the filter keeps, in the order of the returned
    rows, of which each has one per sequence; `error` the first failed episode's error. `playing`
    are the unfinished calls of the processes that play. `refill` begins further groups, given
    the complete ones so far, and returns their number; `replaced` are the groups in whose place
    they are. Its `sampler_kwargs` are the settings of a `FilterSettings`.
    """

    def __init__(self, sampler_kwargs: Any, **settings: Any) -> None:
        super().__init__(sampler_kwargs=sampler_kwargs, poll_interval=_POLL, **settings)
        self._filter = FilterSettings(**sampler_kwargs)
        self.played: list[TokenTrajectory] = []
        self.kept: list[TokenTrajectory] = []
        self.error: str | None = None
        self.playing: list[Any] = []
        self.refill: Callable[[Sequence[TokenTrajectory]], int] = lambda _: 0
        self.replaced: Collection[int] = ()

    def sample(
        self,
        global_steps: int,  # noqa: ARG002 - verl's name
        partition_id: str,
        batch_size: int,
    ) -> tuple[KVBatchMeta, dict[str, float]]:
        """Return the rows of the rollouts to learn from, and their fraction.

        Validation keeps all rollouts, and requires all. UserError if an episode failed by a
        user's mistake, no group is left, or a held-out episode failed. An error of a process that
        plays is raised, as when it was killed. `batch_size` is the number of groups.
        """
        is_training = partition_id == TRAIN
        while True:
            self._wait(partition_id, batch_size)
            ended = self._collect_episodes(partition_id)
            keys = list(ended)
            raise_mistakes(ended.values())
            self.error = first_error(ended.values())
            if not is_training and self.error is not None:
                raise UserError(
                    f"a held-out episode ended in an error, {self.error}; fix it, then run the "
                    "same command to continue",
                    exit_code=1,
                )
            whole = complete_groups(list(ended.values()), [_group(key) for key in keys])
            further = self.refill(list(whole.values())) if is_training else 0
            if not further:
                break
            batch_size += further
        self.played = list(whole.values())
        kept = [True] * len(whole)
        if is_training:
            kept = select_rollouts(self._filter, self.played, self.replaced)
        places = [place for place, keep in zip(whole, kept, strict=True) if keep]
        self.kept = [whole[place] for place in places]
        rows = [
            f"{keys[place].rpartition('_')[0]}_{part}"
            for place in places
            for part in range(len(whole[place].sequences))
        ]
        tags = [self.partitions[partition_id][key] for key in rows]
        dropped = {*map(_group, keys), *self.partitions[partition_id]} - set(rows)
        tq.kv_clear(keys=sorted(dropped), partition_id=partition_id)
        fraction = len(places) / len(whole)
        meta = KVBatchMeta(partition_id=partition_id, keys=rows, tags=tags)
        return meta, {"filter/kept": fraction}

    def _wait(self, partition_id: str, groups: int) -> None:
        since = 0.0
        while True:
            self._sync_metadata_from_transfer_queue()  # type: ignore[no-untyped-call]
            over = (*self.finished_keys[partition_id], *self.failure_keys[partition_id])
            if len(over) >= groups:
                return
            self._raise_errors()
            since = self._wait_for_next_poll(partition_id, since)

    def _raise_errors(self) -> None:
        """Raise the error of a process that plays and has ended: its groups will never finish."""
        if self.playing:
            ended, self.playing = ray.wait(self.playing, num_returns=len(self.playing), timeout=0)
            ray.get(ended)

    def _collect_episodes(self, partition_id: str) -> dict[str, Ended]:
        """Return finished episodes by the key of their first row, or by their group's."""
        keys = sorted(self.partitions[partition_id], key=_order)
        # Of several sequences, the first one carries the trajectory.
        firsts = [key for key in keys if _order(key)[-1] == 0]
        ended: dict[str, Ended] = {}
        if firsts:
            fields = tq.kv_batch_get(keys=firsts, partition_id=partition_id, select_fields=[_EXTRA])
            extras = list(fields[_EXTRA])
            ended = {
                key: pickle.loads(extra["ended"]) for key, extra in zip(firsts, extras, strict=True)
            }
        # Last, since any other error is more specific.
        return ended | dict.fromkeys(self.failure_keys[partition_id], _IN_VERL)


def _group(key: str) -> str:
    return key.partition("_")[0]


def _order(key: str) -> tuple[str, int, int]:
    """Return the sort key of a row: group, rollout, part."""
    group, rollout, part = key.rsplit("_", 2)
    return group, int(rollout), int(part)
