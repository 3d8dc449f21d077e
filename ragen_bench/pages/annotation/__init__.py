"""Annotation: blind human ratings of trajectories, and the agreement of raters."""

from ragen_bench.pages.annotation.agreement import krippendorff_alpha
from ragen_bench.pages.annotation.ratings import QUESTIONS, SCALE, Rating, append_rating, ratings_of
from ragen_bench.pages.annotation.session import Session, Trace, distinct

__all__ = [
    "QUESTIONS",
    "SCALE",
    "Rating",
    "Session",
    "Trace",
    "append_rating",
    "distinct",
    "krippendorff_alpha",
    "ratings_of",
]
