"""Small pure functions, each with its source."""

from ragen_bench.statistics.breakdown import Bucket, WithinTurns, by_difficulty, by_turns
from ragen_bench.statistics.estimates import Estimate, mean_estimate, mean_of
from ragen_bench.statistics.intervals import (
    Interval,
    alike_interval,
    clopper_pearson,
    clustered_bootstrap,
    mean_interval,
    wilson,
)
from ragen_bench.statistics.normalisation import normalised
from ragen_bench.statistics.paired import Paired, paired
from ragen_bench.statistics.power import detectable_beside, detectable_by
from ragen_bench.statistics.repeats import mean_at_k, over_instances, pass_at_k, pass_hat_k

__all__ = [
    "Bucket",
    "Estimate",
    "Interval",
    "Paired",
    "WithinTurns",
    "alike_interval",
    "by_difficulty",
    "by_turns",
    "clopper_pearson",
    "clustered_bootstrap",
    "detectable_beside",
    "detectable_by",
    "mean_at_k",
    "mean_estimate",
    "mean_interval",
    "mean_of",
    "normalised",
    "over_instances",
    "paired",
    "pass_at_k",
    "pass_hat_k",
    "wilson",
]
