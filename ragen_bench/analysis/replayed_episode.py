"""Replayed episodes: the states before and after each turn, and what the turn ran."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from ragen_bench.environments import AnyEnv
from ragen_bench.episodes.replay import Replayer
from ragen_bench.runs.schema import EpisodeRecord, TurnRecord

State = Any
"""A game's state, as its `Reading` returns it: hashable, and equal where play would go on alike."""


@dataclass(frozen=True)
class ReplayedTurn:
    """One turn.

    Attributes:
        number: its number, from 1.
        turn: its record.
        before: the state that the player saw.
        after: the state at the turn's end.
        turns_left: answers that could still be given, this one included.
        actions_left: actions that could still be run, before this turn.
        actions: the names of the actions that were run.
    """

    number: int
    turn: TurnRecord
    before: State
    after: State
    turns_left: int
    actions_left: int
    actions: tuple[str, ...]


@dataclass(frozen=True)
class ReplayedEpisode:
    """One finished episode.

    Attributes:
        record: its record, written by the replay.
        env: an environment of its variant, in a state of no meaning; of its game's own class.
        instance: the instance that was played.
        steps: the turns; there may be none.
    """

    record: EpisodeRecord
    env: Any
    instance: Any
    steps: tuple[ReplayedTurn, ...]


def replay_episode(
    replayer: Replayer, record: EpisodeRecord, state_of: Callable[[AnyEnv], Hashable]
) -> ReplayedEpisode:
    """Replay a record.

    Args:
        replayer: the replayer of the record's run.
        record: the episode.
        state_of: returns the game's state from an environment.

    Raises:
        UnplayableError: if the answers are not one whole episode of the run.
    """
    snapshots = []
    for episode in replayer.walk(record):
        env = episode.env
        snapshots.append(_Snapshot(state_of(env), env.turns_left, env.actions_left))
    replayed = episode.record()
    turns = zip(replayed.turns, pairwise(snapshots), strict=True)
    steps = tuple(_step(n, turn, *pair) for n, (turn, pair) in enumerate(turns, start=1))
    return ReplayedEpisode(replayed, env, env.get_instance(replayed.index), steps)


class _Snapshot(NamedTuple):
    state: State
    turns_left: int
    actions_left: int


def _step(number: int, turn: TurnRecord, before: _Snapshot, after: _Snapshot) -> ReplayedTurn:
    ran = before.actions_left - after.actions_left
    return ReplayedTurn(
        number, turn, before.state, after.state, *before[1:], tuple(turn.actions[:ran])
    )
