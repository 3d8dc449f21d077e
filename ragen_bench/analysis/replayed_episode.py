"""Replayed episodes: the states before and after each turn, and its actions."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import pairwise

from ragen_bench.environments import AnyEnv
from ragen_bench.episodes.replay import Replayer
from ragen_bench.runs.schema import EpisodeRecord, TurnRecord
from ragen_envs.core.failures import FinishedEpisode, FinishedTurn


@dataclass(frozen=True, kw_only=True)
class ReplayedTurn(FinishedTurn):
    """A turn with its record."""

    turn: TurnRecord


@dataclass(frozen=True, kw_only=True)
class ReplayedEpisode(FinishedEpisode):
    """A finished episode with the record that the replay wrote."""

    record: EpisodeRecord
    steps: tuple[ReplayedTurn, ...]


def replay_episode(
    replayer: Replayer, record: EpisodeRecord, state_of: Callable[[AnyEnv], Hashable]
) -> ReplayedEpisode:
    """Replay a record, or raise UnplayableError; `state_of` returns the game's state."""
    snapshots = []
    for episode in replayer.walk(record):
        env = episode.env
        snapshots.append((state_of(env), env.turns_left, env.actions_left))
    replayed = episode.record()
    steps = [
        ReplayedTurn(
            number=number,
            before=before,
            after=after,
            turns_left=turns_left,
            actions_left=actions_left,
            actions=tuple(turn.actions[: actions_left - actions_left_after]),
            effective=turn.action_is_effective,
            terminated=turn.terminated,
            turn=turn,
        )
        for number, (
            turn,
            ((before, turns_left, actions_left), (after, _, actions_left_after)),
        ) in enumerate(zip(replayed.turns, pairwise(snapshots), strict=True), start=1)
    ]
    return ReplayedEpisode(
        record=replayed,
        env=env,
        instance=env.get_instance(replayed.index),
        steps=tuple(steps),
        outcome=replayed.outcome,
    )
