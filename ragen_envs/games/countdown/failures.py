"""Countdown: unusable expressions, and values that are one step from the target."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode
from ragen_envs.games.countdown.env import CountdownEnv
from ragen_envs.games.countdown.text import Result


class CountdownFailures(FailureLabeler):
    """Labels episodes of Countdown; a state is the expressions so far."""

    reads_arithmetic = True

    def read_state(self, env: CountdownEnv) -> Hashable:
        return env.results

    def find_decisive_failure(self, episode: FinishedEpisode) -> Failure | None:
        """Return the first unusable expression, if at least half of the turns have one."""
        unusable = [
            step.number
            for step in episode.steps
            if step.actions and dict(step.after)[step.actions[0]].value is None
        ]
        if unusable and 2 * len(unusable) >= len(episode.steps):
            return Failure("unusable_expressions", unusable[0])
        return None

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        """Return the first value from which one step leads to the target."""
        for step in episode.steps:
            if step.actions:
                result: Result = dict(step.after)[step.actions[0]]
                if _is_one_step_short(result, episode.instance.target):
                    return Failure("one_step_short", step.number)
        return Failure("out_of_budget", len(episode.steps))


def _is_one_step_short(result: Result, target: int) -> bool:
    if result.value is None:
        return False
    a = Fraction(result.value)
    return any(
        target in (a + b, a - b, b - a, a * b, a / b) or (a and b / a == target)
        for b in result.rest
    )
