"""Diversity: how far a model's thoughts differ from instance to instance."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence

from ragen_bench.runs.schema import Object


def diversity(thoughts: Sequence[str]) -> Object | None:
    """Return the measures of thoughts on different instances; None for fewer than two.

    `compression` is their size over their size after zlib, larger for more of the same (Shaib et
    al. 2024, arXiv 2403.00553, section 3); it grows with the number of thoughts, so compare it at
    equal numbers. `distinct` is the share of different ones among all n-grams of words, for n of
    1, 2 and 3 (Li et al. 2016, arXiv 1510.03055, section 5). `repeated` is the share of thoughts
    that stand word for word with another instance too.
    """
    if len(thoughts) < 2:
        return None
    counts = Counter(thoughts)
    return {
        "thoughts": len(thoughts),
        "compression": round(compression_ratio(thoughts), 3),
        "distinct": [_rounded(distinct(thoughts, n)) for n in (1, 2, 3)],
        "repeated": round(sum(n for n in counts.values() if n > 1) / len(thoughts), 6),
    }


def compression_ratio(texts: Sequence[str]) -> float:
    """Return the bytes of the texts, one a line, over their bytes after zlib at its best."""
    joined = "\n".join(texts).encode("utf-8", "surrogatepass")
    return len(joined) / len(zlib.compress(joined, 9))


def distinct(texts: Sequence[str], n: int) -> float | None:
    """Return the share of different n-grams of words, within texts; None if there are none."""
    grams: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        words = text.lower().split()
        grams.update(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
    total = grams.total()
    return len(grams) / total if total else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
