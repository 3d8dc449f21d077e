"""The figure of a run that grows: its success so far, or its return."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Literal, NamedTuple

from ragen_bench.runs.schema import EpisodeRecord
from ragen_bench.statistics import Estimate, clustered_bootstrap, mean_estimate, mean_of
from ragen_envs.core.sums import sum_in_order

_Clusters = dict[int, list[float]]
"""A value of each episode, by instance."""


class Figure(NamedTuple):
    """What a run reached.

    Attributes:
        of: what it is: the share that was solved, in [0, 1], or the sum of rewards.
        mean: over environments, each of which counts the same, with its interval of 95 %.
        envs: how many environments it is of.
    """

    of: Literal["success", "return"]
    mean: Estimate
    envs: int


class Tally:
    """What is kept of the episodes of a run."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self._solved: defaultdict[str, _Clusters] = defaultdict(dict)
        self._gained: defaultdict[str, _Clusters] = defaultdict(dict)
        self._telling: set[str] = set()

    def add(self, episode: EpisodeRecord) -> None:
        """Count an episode."""
        env, index = episode.env, episode.index
        self.outcomes[episode.outcome] += 1
        self._solved[env].setdefault(index, []).append(float(episode.success or 0))
        self._gained[env].setdefault(index, []).append(episode.episode_return)
        if episode.success is not None:
            self._telling.add(env)

    def figure(self) -> Figure | None:
        """Return the success where an environment tells it, else the return of the only one.

        None where there is no episode, and of the returns of several environments, whose mean
        would mean nothing.
        """
        if self._telling:
            told = [env for env in self._solved if env in self._telling]
            solved = [mean_estimate(list(self._solved[env].values())) for env in told]
            return Figure("success", mean_of(solved), len(solved))
        if len(self._gained) != 1:
            return None
        (clusters,) = self._gained.values()
        values = [value for cluster in clusters.values() for value in cluster]
        interval = clustered_bootstrap(list(clusters.values()))
        return Figure("return", Estimate(sum_in_order(values) / len(values), interval), 1)
