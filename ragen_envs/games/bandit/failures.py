"""The two-armed bandit: a failure is one pull of the worse arm."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from ragen_envs.core.failures import Failure, FailureLabeler, FinishedEpisode


class BanditFailures(FailureLabeler):
    """Labels episodes of the two-armed bandit."""

    def read_state(self, env: Any) -> Hashable:
        # As by default, but said: estimators that compare states ask for a definition.
        turns: int = env.turns_left
        return turns

    def list_actions(self, episode: FinishedEpisode) -> Sequence[str]:
        return tuple(episode.instance.names)

    def find_default_failure(self, _episode: FinishedEpisode) -> Failure:
        return Failure("worse_arm", 1)
