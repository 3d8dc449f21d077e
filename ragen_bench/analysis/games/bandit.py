"""The two-armed bandit: a failure is one pull of the worse arm."""

from __future__ import annotations

from collections.abc import Sequence

from ragen_bench.analysis.failures import Failure
from ragen_bench.analysis.games.base import Reading
from ragen_bench.analysis.replayed_episode import ReplayedEpisode


class BanditReading(Reading):
    """Reads episodes of the two-armed bandit."""

    labels = {"worse_arm": "The arm that pays less on average was pulled."}

    def actions(self, episode: ReplayedEpisode) -> Sequence[str]:
        """Return the names of the arms."""
        return tuple(episode.instance.names)

    def rest(self, _episode: ReplayedEpisode) -> Failure:
        """Return that the pull went to the wrong arm."""
        return Failure("worse_arm", 1)
