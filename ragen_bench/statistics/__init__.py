"""Small pure functions, each with its source."""

from ragen_bench.statistics.intervals import clustered_bootstrap, wilson
from ragen_bench.statistics.normalisation import normalised

__all__ = ["clustered_bootstrap", "normalised", "wilson"]
