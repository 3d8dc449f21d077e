"""Diversity of a model's thoughts across instances."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence

from ragen_bench.json_types import JsonObject


def measure_diversity(thoughts: Sequence[str]) -> JsonObject | None:
    """Return measures of thoughts on different instances; None for fewer than two.

    `compression` is the zlib compression ratio, higher for more repetitive texts (Shaib et al.
    2024, arXiv 2403.00553, section 3); it grows with the number of thoughts, so compare it at equal
    numbers. `distinct` is the fraction of distinct n-grams of words for n = 1, 2, 3 (Li et al.
    2016, arXiv 1510.03055, section 5). `repeated` is the fraction of thoughts that another
    instance has word for word.
    """
    if len(thoughts) < 2:
        return None
    counts = Counter(thoughts)
    return {
        "thoughts": len(thoughts),
        "compression": round(compression_ratio(thoughts), 3),
        "distinct": [_round(distinct_fraction(thoughts, n)) for n in (1, 2, 3)],
        "repeated": round(sum(n for n in counts.values() if n > 1) / len(thoughts), 6),
    }


def compression_ratio(texts: Sequence[str]) -> float:
    """Return the bytes of the joined texts over their bytes after zlib level 9."""
    joined = "\n".join(texts).encode("utf-8", "surrogatepass")
    return len(joined) / len(zlib.compress(joined, 9))


def distinct_fraction(texts: Sequence[str], n: int) -> float | None:
    """Return the fraction of distinct n-grams of words within texts; None without n-grams."""
    grams: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        words = text.lower().split()
        grams.update(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
    total = grams.total()
    return len(grams) / total if total else None


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
