"""Annotation: blind human ratings of trajectories, and the agreement of raters."""

from ragen_bench.pages.annotation.session import (
    QUESTIONS,
    SCALE,
    Rating,
    Session,
    Trace,
    krippendorff_alpha,
    read_ratings,
    resolve_distinct,
)

__all__ = [
    "QUESTIONS",
    "SCALE",
    "Rating",
    "Session",
    "Trace",
    "krippendorff_alpha",
    "read_ratings",
    "resolve_distinct",
]
