"""The difference between two runs on the same instances."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragen_bench.statistics.estimates import Estimate
from ragen_bench.statistics.intervals import clustered_bootstrap, resampled_interval
from ragen_envs.core.sums import sum_in_order


class Paired(NamedTuple):
    """Two runs on the same instances.

    Attributes:
        a: the first run's mean over instances.
        b: the second run's.
        difference: a - b, with its interval.
        a_ahead: instances on which the first run did better; with one 0/1 value an instance, those
            that only it solved. None where an instance has more values in one run than in the
            other: a mean of many is oftener above 0 than one value, whoever is better.
        b_ahead: instances on which the second run did better, or None.
    """

    a: float
    b: float
    difference: Estimate
    a_ahead: int | None
    b_ahead: int | None


def paired(
    a: Sequence[Sequence[float]], b: Sequence[Sequence[float]], *, bounded: bool = True
) -> Paired:
    """Compare two runs instance by instance.

    The samples of an instance are averaged first; the interval is the percentile bootstrap's over
    instances, of the differences, see `resampled_interval`.

    Source: Miller 2024, Adding error bars to evals (arXiv 2411.00640), on paired differences; the
    counts are those of McNemar 1947, Note on the sampling error of the difference between
    correlated proportions or percentages.

    Args:
        a: the first run's values of each instance, between 0 and 1.
        b: the second run's, of the same instances in the same order.
        bounded: False for values without bounds, as returns: differences that are all alike then
            have an interval of no width.

    Raises:
        ValueError: if there is no instance, one without a value, or not as many in both.
    """
    if not a or not all(a) or not all(b):
        raise ValueError("every instance needs at least one value in each run")
    pairs = list(zip(a, b, strict=True))
    means = [(_mean(x), _mean(y)) for x, y in pairs]
    differences = [x - y for x, y in means]
    clusters = [[difference] for difference in differences]
    interval = resampled_interval(clusters, -1.0, 1.0) if bounded else clustered_bootstrap(clusters)
    fair = all(len(x) == len(y) for x, y in pairs)
    return Paired(
        a=_mean([x for x, _ in means]),
        b=_mean([y for _, y in means]),
        difference=Estimate(_mean(differences), interval),
        a_ahead=sum(x > y for x, y in means) if fair else None,
        b_ahead=sum(y > x for x, y in means) if fair else None,
    )


def _mean(values: Sequence[float]) -> float:
    return sum_in_order(values) / len(values)
