"""Failures in Lamps."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from lamp_game.solver import solve
from lamp_game.text import NAMES
from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode


class LampFailures(FailureLabeler):
    """Labels episodes of Lamps; a state is the row."""

    def read_state(self, env: Any) -> Hashable:
        """Return the row."""
        state: int = env.state
        return state

    def find_default_failure(self, episode: FinishedEpisode) -> Failure:
        """Return the first turn that left more presses to be made than it found."""
        for step in episode.steps:
            if len(solve(step.after)) > len(solve(step.before)):
                return Failure("wrong_lamp", step.number)
        return Failure("out_of_budget", len(episode.steps))

    def list_actions(self, _episode: FinishedEpisode) -> Sequence[str]:
        """Return the numbers of the lamps."""
        return NAMES
