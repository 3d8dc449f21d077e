"""Comparisons of two players on the same instances: intervals, an exact test, Holm's correction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ragen_bench.statistics.estimates import Estimate, mean
from ragen_bench.statistics.intervals import clustered_bootstrap, resampled_interval


class Paired(NamedTuple):
    """A comparison of two runs on the same instances.

    Attributes:
        a: Mean of the first run over instances.
        b: Mean of the second run.
        difference: a - b, with its interval.
        a_ahead: Number of instances on which the first run did better. None where the numbers of
            values per instance differ: a mean of many values is above 0 more often than one value.
        b_ahead: Number of instances on which the second run did better, or None.
    """

    a: float
    b: float
    difference: Estimate
    a_ahead: int | None
    b_ahead: int | None


def compare_paired(
    a: Sequence[Sequence[float]], b: Sequence[Sequence[float]], *, bounded: bool = True
) -> Paired:
    """Compare two runs instance by instance.

    The samples of an instance are averaged first. The interval is the percentile bootstrap over
    the differences of instances, see `resampled_interval`.

    Source: Miller 2024, Adding error bars to evals (arXiv 2411.00640), on paired differences; the
    counts are those of McNemar 1947, Note on the sampling error of the difference between
    correlated proportions or percentages.

    Args:
        a: Values of the first run by instance, between 0 and 1.
        b: Values of the second run, for the same instances in the same order.
        bounded: False for values without bounds, such as returns. Equal differences then have an
            interval of width 0.

    Raises:
        ValueError: if there is no instance, an instance without a value, or the numbers differ.
    """
    if not a or not all(a) or not all(b):
        raise ValueError("every instance needs at least one value in each run")
    pairs = list(zip(a, b, strict=True))
    means = [(mean(x), mean(y)) for x, y in pairs]
    differences = [x - y for x, y in means]
    clusters = [[difference] for difference in differences]
    interval = resampled_interval(clusters, -1.0, 1.0) if bounded else clustered_bootstrap(clusters)
    same_counts = all(len(x) == len(y) for x, y in pairs)
    return Paired(
        a=mean([x for x, _ in means]),
        b=mean([y for _, y in means]),
        difference=Estimate(mean(differences), interval),
        a_ahead=sum(x > y for x, y in means) if same_counts else None,
        b_ahead=sum(y > x for x, y in means) if same_counts else None,
    )


def count_higher_and_lower(
    scores: Sequence[float], others: Sequence[float], seed: int = 0
) -> tuple[int, int]:
    """Count the paired episodes in which a score is higher, and those in which it is lower.

    A score in [0, 1] becomes a success with that probability, drawn once for both of a pair. The
    counts then test the means of graded scores; 0/1 scores are unchanged. Source: Schlag 2008, A
    new method for constructing exact tests without making any assumptions.

    Args:
        scores: Scores of one player, in [0, 1].
        others: Scores of the other player in the same episodes.
        seed: Seed of the draws. Tests of one family need different seeds, since the level of the
            test holds over the draws.

    Raises:
        ValueError: if the numbers of scores differ, or a score is outside [0, 1].
    """
    if len(scores) != len(others):
        raise ValueError(f"{len(scores)} scores do not pair with {len(others)}")
    a, b = np.array(scores, dtype=np.float64), np.array(others, dtype=np.float64)
    if any(((side < 0) | (side > 1)).any() for side in (a, b)):
        raise ValueError("a score is outside [0, 1]")
    uniform = np.random.Generator(np.random.PCG64(seed)).random(len(scores))
    won, lost = uniform < a, uniform < b
    return int((won & ~lost).sum()), int((lost & ~won).sum())


def mcnemar_p(higher: int, lower: int) -> float:
    """Return the one-sided p-value of McNemar's exact test.

    Under equal players, the higher ones among differing pairs are binomial with probability 1/2.
    The test is exact for independent, identically distributed pairs.

    Args:
        higher: Number of pairs in which the player did better.
        lower: Number of pairs in which the player did worse.
    """
    pairs = higher + lower
    ways = way = 1  # to choose all of them
    for chosen in range(pairs, higher, -1):
        way = way * chosen // (pairs - chosen + 1)
        ways += way
    return ways / (1 << pairs)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p-values adjusted for a family of tests.

    Source: Holm 1979, A simple sequentially rejective multiple test procedure (Scandinavian
    Journal of Statistics 6).
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return tuple(adjusted)
