"""Annotation: blind human ratings of trajectories, and the agreement of raters."""

from ragen_bench.pages.annotation.agreement import krippendorff_alpha
from ragen_bench.pages.annotation.ratings import (
    QUESTIONS,
    SCALE,
    Rating,
    append_rating,
    read_ratings,
)
from ragen_bench.pages.annotation.session import Session, Trace, resolve_distinct

__all__ = [
    "QUESTIONS",
    "SCALE",
    "Rating",
    "Session",
    "Trace",
    "append_rating",
    "krippendorff_alpha",
    "read_ratings",
    "resolve_distinct",
]
