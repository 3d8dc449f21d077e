"""A replayed episode as the states that it went through."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

from ragen_bench.episodes.episode import Record
from ragen_bench.episodes.replay import Replayer
from ragen_envs.text_env import TextEnv

State = Any
"""What a game's file makes of an environment: hashable, and equal where play would go on alike."""


@dataclass(frozen=True)
class Step:
    """One turn.

    Attributes:
        number: of the turn, from 1.
        turn: its record.
        before: the game's state that the player saw.
        after: the game's state at its end.
        turns_left: answers that might still be given, this one included.
        actions_left: actions that might still be run, before this turn.
        actions: the names of those that were run.
    """

    number: int
    turn: Record
    before: State
    after: State
    turns_left: int
    actions_left: int
    actions: tuple[str, ...]


@dataclass(frozen=True)
class Trajectory:
    """One finished episode.

    Attributes:
        record: the episode, as it was replayed.
        env: an environment of its variant; its own state means nothing.
        instance: what was played.
        steps: the turns, perhaps none.
    """

    record: Record
    env: TextEnv[Any, Any]
    instance: Any
    steps: tuple[Step, ...]


def trajectory(
    replayer: Replayer, record: Any, look: Callable[[TextEnv[Any, Any]], Hashable]
) -> Trajectory:
    """Replay a record and return its trajectory.

    Args:
        replayer: of the record's run.
        record: the episode.
        look: returns the state of an environment.

    Raises:
        UnplayableError: if the answers are no whole episode of the run.
    """
    seen = []
    for episode in replayer.walk(record):
        env = episode.env
        seen.append(_Seen(look(env), env.turns_left, env.actions_left))
    found = episode.record()
    turns = zip(found["turns"], pairwise(seen), strict=True)
    steps = tuple(_step(n, turn, *pair) for n, (turn, pair) in enumerate(turns, start=1))
    return Trajectory(found, env, env.instance_of(found["index"]), steps)


class _Seen(NamedTuple):
    state: State
    turns_left: int
    actions_left: int


def _step(number: int, turn: Record, before: _Seen, after: _Seen) -> Step:
    ran = before.actions_left - after.actions_left
    return Step(number, turn, before.state, after.state, *before[1:], tuple(turn["actions"][:ran]))
