"""Differences of two runs in one environment, paired by instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragen_bench.json_types import JsonObject
from ragen_bench.statistics import (
    Estimate,
    Paired,
    compare_paired,
    detectable_from,
    mean,
    mean_estimate,
    mean_of,
    normalise,
    widen,
)
from ragen_envs.core.sums import sum_in_order

_MIN_SOLVED = 2
"""Instances that both runs must solve for an interval of the efforts' difference."""


class Sample(NamedTuple):
    """The values of an episode that runs are compared by."""

    success: float | None
    score: float | None
    episode_return: float
    effort: float | None = None
    player: str = ""


Samples = dict[int, list[Sample]]
"""Episodes of an environment by instance."""
Common = list[list[Sample]]
"""Episodes of the common instances, in the same order for both runs."""


Scale = tuple[float, float]
"""The random baseline and the optimal score."""


def make_row(
    env: str, a: Common, b: Common, scale: Scale | None, blind: JsonObject | None
) -> JsonObject:
    """Return the row of an environment, with the number of common `instances`.

    It has the differences in `success` and, with a `scale`, in `normalised` score, or in `return`
    without success; on how many instances each run was ahead, None if the numbers of samples
    differ; and the success of the `blind` script with the runs that are `close` to it. Each
    difference has `detectable`, what such runs detect with 80 % power, None without spread or if no
    success can differ so much.
    """
    has_success = all(
        any(episode.success is not None for samples in side for episode in samples)
        for side in (a, b)
    )
    main = _compare_metric(a, b, "success" if has_success else "episode_return")
    most = 1.0 if has_success else None
    metrics = _format_difference(main.a, main.b, main.difference, most)
    normalised = None
    if scale:
        score = _compare_metric(a, b, "score")
        sides = normalise(score.a, *scale), normalise(score.b, *scale)
        # The baseline is the same for both, so the difference is only scaled.
        difference = score.difference.rescale(1 / (scale[1] - scale[0]))
        if sides[0] is not None and sides[1] is not None:
            floor, ceiling = (round(bound, 6) for bound in scale)
            normalised = _format_difference(sides[0], sides[1], difference)
            normalised |= {"floor": floor, "ceiling": ceiling}
    return {
        "env": env,
        "instances": len(a),
        "success": metrics if has_success else None,
        **({} if has_success else {"return": metrics}),
        "a_ahead": main.a_ahead,
        "b_ahead": main.b_ahead,
        "normalised": normalised,
        **({"blind": blind} if blind else {}),
        **_compare_effort(a, b),
    }


def find_lowest_success(instances: Common) -> float:
    """Return the lower bound of the interval of a run's success."""
    by_person: dict[str, list[float]] = {}
    for sample in (sample for samples in instances for sample in samples):
        by_person.setdefault(sample.player, []).append(sample.success or 0)
    clusters = [[sample.success or 0 for sample in samples] for samples in instances]
    return mean_estimate(clusters, list(by_person.values())).interval[0]


def _compare_effort(a: Common, b: Common) -> JsonObject:
    """Compare actions over the optimal ones on the instances that both solved, at least two."""
    pairs = [
        sides
        for samples in zip(a, b, strict=True)
        if all(
            sides := [[each.effort for each in side if each.effort is not None] for side in samples]
        )
    ]
    if len(pairs) < _MIN_SOLVED:
        return {}
    found = compare_paired(*map(list, zip(*pairs, strict=True)), bounded=False)
    metrics = _format_difference(found.a, found.b, found.difference)
    return {"actions_over_optimal": {"instances": len(pairs), **metrics}}


def _compare_metric(a: Common, b: Common, metric: str) -> Paired:
    """Compare a metric of the two runs; an episode without it counts 0.

    With several people, the interval contains that of the differences by person.
    """
    sides = [
        [[float(getattr(episode, metric) or 0) for episode in samples] for samples in side]
        for side in (a, b)
    ]
    bounds = None if metric == "episode_return" else (-1.0, 1.0)
    found = compare_paired(*sides, bounded=bounds is not None)
    interval = found.difference.interval
    for sign, played, other in ((1, 0, 1), (-1, 1, 0)):
        by_person: dict[str, list[float]] = {}
        for number, samples in enumerate((a, b)[played]):
            expected = mean(sides[other][number])
            for episode, value in zip(samples, sides[played][number], strict=True):
                by_person.setdefault(episode.player, []).append(sign * (value - expected))
        interval = widen(interval, list(by_person.values()), bounds=bounds)
    return found._replace(difference=found.difference._replace(interval=interval))


def _format_difference(
    a: float, b: float, difference: Estimate, most: float | None = None
) -> JsonObject:
    return {"a": round(a, 6), "b": round(b, 6), **describe_difference(difference, most)}


def describe_difference(difference: Estimate, most: float | None = None) -> JsonObject:
    """Return a rounded difference and the detectable one, which is not beyond `most`."""
    detectable = detectable_from(difference.interval)
    if detectable is not None and most is not None and detectable > most:
        detectable = None
    return {
        "difference": round(difference.value, 6),
        "interval": [round(bound, 6) for bound in difference.interval],
        "detectable": None if detectable is None else round(detectable, 6),
    }


def mean_row(
    rows: Sequence[JsonObject], of_people: bool, most: float | None = None
) -> JsonObject | None:
    """Return the mean over environments, which are independent unless people played several.

    No difference beyond `most` is detectable.
    """
    if not rows:
        return None
    differences = [Estimate(row["difference"], tuple(row["interval"])) for row in rows]
    a, b = (sum_in_order(row[name] for row in rows) / len(rows) for name in ("a", "b"))
    return _format_difference(a, b, mean_of(differences, dependent=of_people), most)
