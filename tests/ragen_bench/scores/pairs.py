"""Two runs side by side."""

from ragen_bench.scores.compare import compare_with_first


def compare(a, b):
    """Return what is said of two runs."""
    return compare_with_first([a, b])["comparisons"][0]
