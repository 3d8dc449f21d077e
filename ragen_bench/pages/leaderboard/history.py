"""History: the best score of a ranking over the dates of its entries."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from ragen_bench.leaderboard.schema import Interval
from ragen_bench.pages.leaderboard.ranking import Ranking
from ragen_bench.pages.leaderboard.site_entries import SiteEntry


@dataclass(frozen=True)
class Point:
    """A dated entry.

    Attributes:
        entry: the entry.
        day: its date.
        score: its suite score.
        interval: of the score.
        best: the highest score up to this day, this one included.
        share: where the day lies between the first (0) and the last (1); 0.5 for a single day.
    """

    entry: SiteEntry
    day: str
    score: float
    interval: Interval
    best: float
    share: float

    @property
    def leads(self) -> bool:
        """Whether no entry up to this day has a higher score."""
        return self.score == self.best


def history(ranking: Ranking) -> list[Point]:
    """Return the models' entries that have a date and a score, by date; the better first."""
    dated = sorted(
        (
            (entry.entry.date, -score, entry.directory, entry, interval)
            for _, entry in ranking.places
            if entry.scripted is None
            and entry.entry.date is not None
            and (score := entry.figures.suite_score) is not None
            and (interval := entry.figures.suite_interval) is not None
        ),
        key=lambda point: point[:3],
    )
    best, points = float("-inf"), []
    for day, negative, _, entry, interval in dated:
        best = max(best, -negative)
        share = _share(day, dated[0][0], dated[-1][0])
        points.append(Point(entry, day, -negative, interval, best, share))
    return points


def undated(ranking: Ranking) -> int:
    """Return how many ranked entries give no date."""
    return sum(rank is not None and entry.entry.date is None for rank, entry in ranking.places)


def _share(day: str, first: str, last: str) -> float:
    days = [date.fromisoformat(text).toordinal() for text in (day, first, last)]
    return (days[0] - days[1]) / (days[2] - days[1]) if days[2] > days[1] else 0.5
