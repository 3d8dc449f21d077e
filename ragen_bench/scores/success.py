"""Success rates of recorded episodes, at any confidence level."""

from __future__ import annotations

from collections.abc import Iterable

from ragen_bench.errors import UserError
from ragen_bench.runs.schema import EpisodeRecord
from ragen_bench.scores.metrics import drop_texts, group_by_instance, group_by_person
from ragen_bench.statistics import Estimate, clopper_pearson, mean, mean_interval


def group_successes(episodes: Iterable[EpisodeRecord]) -> dict[str, dict[int, list[float]]]:
    """Return the reported successes by environment and instance."""
    grouped: dict[str, dict[int, list[float]]] = {}
    for episode in episodes:
        if episode.success is not None:
            by_index = grouped.setdefault(episode.env, {})
            by_index.setdefault(episode.index, []).append(float(episode.success))
    return grouped


def estimate_success(
    episodes: Iterable[EpisodeRecord], level: float, exact: bool
) -> dict[str, Estimate]:
    """Return the success rate of each environment that reports success, at a confidence level.

    Episodes without success count as failed where others have it. `exact` intervals are Clopper and
    Pearson's, whose coverage is at least the level; they are for independent trials, so an instance
    with several samples raises UserError, like a level outside (0, 1).
    """
    if not 0 < level < 1:
        raise UserError(f"a confidence level is between 0 and 1 (0 and 100 %), got {level:g}")
    by_env: dict[str, list[EpisodeRecord]] = {}
    for episode in episodes:
        by_env.setdefault(episode.env, []).append(drop_texts(episode))
    estimates = {}
    for env, played in by_env.items():
        if all(episode.success is None for episode in played):
            continue
        clusters = group_by_instance(played, "success")
        by_person = group_by_person(played, "success")
        values = [value for cluster in clusters for value in cluster]
        if not exact:
            interval = mean_interval(clusters, level, by_person)
        elif len(by_person) > 1:
            raise UserError(
                "exact intervals are for independent episodes, and several people played this "
                "run; remove --exact"
            )
        elif len(values) == len(clusters):
            interval = clopper_pearson(sum(value == 1 for value in values), len(values), level)
        else:
            raise UserError(
                "exact intervals need one sample per instance, and the run has more; remove "
                "--exact, or evaluate with --samples 1"
            )
        estimates[env] = Estimate(mean(values), interval)
    return estimates
