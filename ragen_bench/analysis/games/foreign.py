"""Environments of other packages: the causes of failure that need no knowledge of a game."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragen_bench.analysis.failures import Failure
from ragen_bench.analysis.games.base import Reading
from ragen_bench.analysis.replayed_episode import ReplayedEpisode


class ForeignReading(Reading):
    """Tells an episode that the environment ended from one whose turns ran out."""

    labels: ClassVar[Mapping[str, str]] = {
        "lost": "The environment ended the episode without success.",
        "out_of_turns": "The turns ran out before the episode was a success.",
    }

    def rest(self, episode: ReplayedEpisode) -> Failure:
        """Return how the episode ended."""
        ended = episode.steps[-1].turn.terminated
        return Failure("lost" if ended else "out_of_turns", len(episode.steps))
