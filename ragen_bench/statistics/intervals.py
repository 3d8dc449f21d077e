"""95 % intervals of means."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

Interval = tuple[float, float]
_Z = 1.959963984540054
"""The 97.5 % point of the standard normal distribution."""
_RESAMPLES = 2000


def wilson(successes: int, trials: int) -> Interval:
    """Return the Wilson score interval of a proportion, for independent trials.

    Source: Wilson 1927, Probable inference, the law of succession, and statistical inference.

    Raises:
        ValueError: if there is no trial, or more successes than trials.
    """
    if not 0 <= successes <= trials or trials == 0:
        raise ValueError(f"no proportion: {successes} of {trials}")
    p = successes / trials
    scale = 1 + _Z**2 / trials
    centre = (p + _Z**2 / (2 * trials)) / scale
    half = _Z / scale * sqrt(p * (1 - p) / trials + _Z**2 / (4 * trials**2))
    # Exactly 0 and 1 at the ends, where rounding would leave 1e-17.
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == trials else centre + half
    return low, high


def clustered_bootstrap(clusters: Sequence[Sequence[float]], seed: int = 0) -> Interval:
    """Return the percentile bootstrap interval of the mean, resampling whole clusters.

    Source: Miller 2024, Adding error bars to evals (arXiv 2411.00640), on questions that are
    sampled several times; here a cluster is the samples of one instance.

    Args:
        clusters: the values of each instance.
        seed: of a generator of its own, so that the interval is reproducible.

    Raises:
        ValueError: if there is no cluster, or an empty one.
    """
    if not clusters or not all(clusters):
        raise ValueError("every cluster needs at least one value")
    sums = np.array([sum(cluster) for cluster in clusters], dtype=np.float64)
    sizes = np.array([len(cluster) for cluster in clusters], dtype=np.float64)
    generator = np.random.Generator(np.random.PCG64(seed))
    picks = generator.integers(len(clusters), size=(_RESAMPLES, len(clusters)))
    means = sums[picks].sum(axis=1) / sizes[picks].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
