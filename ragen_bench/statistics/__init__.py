"""Statistics as pure functions, each with its source."""

from ragen_bench.statistics.breakdown import Bucket, success_by_difficulty, success_by_turns
from ragen_bench.statistics.estimates import (
    Estimate,
    mean,
    mean_at_k,
    mean_estimate,
    mean_of,
    mean_over_instances,
    normalise,
    pass_at_k,
    pass_hat_k,
)
from ragen_bench.statistics.intervals import (
    Interval,
    clopper_pearson,
    clustered_bootstrap,
    equal_values_interval,
    mean_interval,
    people_interval,
    resampled_interval,
    student_quantile,
    widen,
    wilson,
)
from ragen_bench.statistics.paired import (
    Paired,
    compare_paired,
    count_higher_and_lower,
    holm,
    mcnemar_p,
)
from ragen_bench.statistics.power import detectable_between, detectable_from

__all__ = [
    "Bucket",
    "Estimate",
    "Interval",
    "Paired",
    "clopper_pearson",
    "clustered_bootstrap",
    "compare_paired",
    "count_higher_and_lower",
    "detectable_between",
    "detectable_from",
    "equal_values_interval",
    "holm",
    "mcnemar_p",
    "mean",
    "mean_at_k",
    "mean_estimate",
    "mean_interval",
    "mean_of",
    "mean_over_instances",
    "normalise",
    "pass_at_k",
    "pass_hat_k",
    "people_interval",
    "resampled_interval",
    "student_quantile",
    "success_by_difficulty",
    "success_by_turns",
    "widen",
    "wilson",
]
