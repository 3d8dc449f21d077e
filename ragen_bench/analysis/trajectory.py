"""A replayed episode as the states that it went through."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from ragen_bench.episode import Record
from ragen_bench.replay import Replayer
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
        actions: the names of those that were run; the game may have ended before the last ones.
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
    states = []
    for episode in replayer.walk(record):
        states.append(look(episode.env))
    return _assembled(episode.record(), episode.env, states)


def _assembled(record: Record, env: TextEnv[Any, Any], states: list[State]) -> Trajectory:
    budget = env.budget
    left, steps = budget.max_actions, []
    for number, turn in enumerate(record["turns"], start=1):
        ran = tuple(turn["actions"][: min(budget.max_actions_per_turn, left)])
        turns_left = budget.max_turns - number + 1
        steps.append(Step(number, turn, states[number - 1], states[number], turns_left, left, ran))
        left -= len(ran)
    return Trajectory(record, env, env.instance_of(record["index"]), tuple(steps))
