"""Success with intervals of another level, or with exact ones."""

from __future__ import annotations

from collections.abc import Iterable

from ragen_bench.errors import UserError
from ragen_bench.runs.schema import EpisodeRecord
from ragen_bench.statistics import Estimate, clopper_pearson, mean_interval
from ragen_envs.core.sums import sum_in_order


def success_at(episodes: Iterable[EpisodeRecord], level: float, exact: bool) -> dict[str, Estimate]:
    """Return success by environment, of those that tell it.

    Args:
        episodes: of a run; one that does not tell success counts as failed where others do.
        level: of the intervals, in (0, 1).
        exact: whether they are Clopper and Pearson's, which cover at least as often as they say.
            They are of independent trials, so that there may be one sample on each instance.

    Raises:
        UserError: for another level, or an exact interval of several samples on an instance.
    """
    if not 0 < level < 1:
        raise UserError(f"a confidence level is between 0 and 1 (0 and 100 %), got {level:g}")
    solved: dict[str, dict[int, list[float]]] = {}
    told = set()
    for episode in episodes:
        clusters = solved.setdefault(episode.env, {})
        clusters.setdefault(episode.index, []).append(float(episode.success or 0))
        if episode.success is not None:
            told.add(episode.env)
    return {
        env: _estimate(list(clusters.values()), level, exact)
        for env, clusters in solved.items()
        if env in told
    }


def _estimate(clusters: list[list[float]], level: float, exact: bool) -> Estimate:
    values = [value for cluster in clusters for value in cluster]
    mean = sum_in_order(values) / len(values)
    if not exact:
        return Estimate(mean, mean_interval(clusters, level))
    if len(values) > len(clusters):
        raise UserError(
            "exact intervals are of one sample on each instance, and the run has more; leave "
            "exactness out, or evaluate with --samples 1"
        )
    successes = sum(value == 1 for value in values)
    return Estimate(mean, clopper_pearson(successes, len(values), level))
