"""Countdown: expressions that could not be used, and values that one more step makes the target."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

from ragen_bench.analysis.arithmetic import claims_of_arithmetic
from ragen_bench.analysis.claims import Claims
from ragen_bench.analysis.failures import Failure
from ragen_bench.analysis.games.base import Reading
from ragen_bench.analysis.replayed_episode import ReplayedEpisode, ReplayedTurn, State
from ragen_envs.games.countdown.expressions import Value
from ragen_envs.games.countdown.text import Tried


class CountdownReading(Reading):
    """Reads episodes of Countdown; a state is the expressions that were tried."""

    labels = {
        "unusable_expressions": "At least half of the turns gave no expression, or one with "
        "numbers that are not there or a division by zero, and this was the first of them.",
        "one_step_short": "The value of this turn and one of the numbers that it left unused give "
        "the target, which no turn did; it was the first such turn.",
    }

    def state(self, env: Any) -> Hashable:
        """Return the expressions so far: each turn with a new one leads to another state."""
        tried: tuple[tuple[str, Tried], ...] = env.tried
        return tried

    def decisive(self, episode: ReplayedEpisode) -> Failure | None:
        """Return the first expression that could not be used, if these are half of the turns."""
        unusable = [
            step.number for step in episode.steps if step.actions and _tried(step).value is None
        ]
        if unusable and 2 * len(unusable) >= len(episode.steps):
            return Failure("unusable_expressions", unusable[0])
        return None

    def rest(self, episode: ReplayedEpisode) -> Failure:
        """Return the first value from which one step leads to the target."""
        target = episode.instance.target
        for step in episode.steps:
            if step.actions and _is_one_step_short(_tried(step), target):
                return Failure("one_step_short", step.number)
        return Failure("out_of_budget", len(episode.steps))

    def claims(self, thought: str, _episode: ReplayedEpisode, _state: State) -> Claims | None:
        """Return what a thought says of sums."""
        return claims_of_arithmetic(thought)


def _tried(step: ReplayedTurn) -> Tried:
    """Return what became of a turn's expression."""
    tried: Tried = dict(step.after)[step.actions[0]]
    return tried


def _is_one_step_short(tried: Tried, target: int) -> bool:
    value = tried.value
    return value is not None and any(target in _combined(value, n) for n in tried.rest)


def _combined(value: Value, b: int) -> list[Fraction]:
    """Return what two numbers give by one sign, in either order; b is not 0."""
    a = Fraction(value)
    values = [a + b, a - b, b - a, a * b, a / b]
    return [*values, b / a] if a else values
