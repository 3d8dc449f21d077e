"""Countdown: unusable expressions, and values that are one step from the target."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import Any

from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode, FinishedTurn
from ragen_envs.games.countdown.expressions import Value
from ragen_envs.games.countdown.text import Result


class CountdownFailures(FailureLabeler):
    """Labels episodes of Countdown; a state is the expressions so far."""

    reads_arithmetic = True

    def read_state(self, env: Any) -> Hashable:
        """Return the expressions so far: each turn with a new one leads to another state."""
        tried: tuple[tuple[str, Result], ...] = env.results
        return tried

    def find_decisive_failure(self, episode: FinishedEpisode) -> Failure | None:
        """Return the first unusable expression, if at least half of the turns have one."""
        unusable = [
            step.number for step in episode.steps if step.actions and _result_of(step).value is None
        ]
        if unusable and 2 * len(unusable) >= len(episode.steps):
            return Failure("unusable_expressions", unusable[0])
        return None

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        """Return the first value from which one step leads to the target."""
        target = episode.instance.target
        for step in episode.steps:
            if step.actions and _is_one_step_short(_result_of(step), target):
                return Failure("one_step_short", step.number)
        return Failure("out_of_budget", len(episode.steps))


def _result_of(step: FinishedTurn) -> Result:
    """Return the result of a turn's expression."""
    tried: Result = dict(step.after)[step.actions[0]]
    return tried


def _is_one_step_short(tried: Result, target: int) -> bool:
    value = tried.value
    return value is not None and any(target in _combine(value, n) for n in tried.rest)


def _combine(value: Value, b: int) -> list[Fraction]:
    """Return all results of one operation on two numbers, in either order; b is not 0."""
    a = Fraction(value)
    values = [a + b, a - b, b - a, a * b, a / b]
    return [*values, b / a] if a else values
