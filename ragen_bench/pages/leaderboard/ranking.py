"""Rankings of comparable entries, and the best score over time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from ragen_bench.leaderboard.schema import Interval
from ragen_bench.pages.leaderboard.site_entries import SiteEntry


@dataclass(frozen=True)
class Ranking:
    """Comparable entries, which agree in all of these attributes.

    `hash` is the suite's, over instances and specifications, and `sealed_key_hash` is "" on other
    splits. `apart` are the settings that differ from the suite's defaults. `places` are pairs of
    rank and entry, best first; scripted players, people and entries without a score have no rank.
    """

    suite: str
    version: int
    hash: str
    split: str
    sealed_key_hash: str
    apart: tuple[str, ...]
    places: tuple[tuple[int | None, SiteEntry], ...]

    @property
    def anchor(self) -> str:
        """HTML anchor, unique to this ranking."""
        parts = (self.suite, f"v{self.version}", self.split, self.hash, self.sealed_key_hash[:12])
        return re.sub(r"[^a-z0-9]+", "-", "-".join((*parts, *self.apart)).lower()).strip("-")

    @property
    def envs(self) -> list[str]:
        """Environment ids of the suite."""
        return [row.env for row in self.places[0][1].figures.rows]


def build_rankings(entries: Iterable[SiteEntry]) -> list[Ranking]:
    """Group entries into rankings: `core` first, newer versions first, unusual settings last."""
    groups: dict[tuple[str, int, str, str, str, tuple[str, ...]], list[SiteEntry]] = {}
    for entry in entries:
        run = entry.run
        suite = run.suite, run.suite_version, run.suite_hash
        key = (*suite, run.split, run.sealed_key_hash, tuple(entry.apart))
        groups.setdefault(key, []).append(entry)
    unordered = (Ranking(*key, places=_places(group)) for key, group in groups.items())
    return sorted(unordered, key=_order)


def compute_ranks(scores: Sequence[tuple[float, Interval]]) -> list[int]:
    """Return the ranks of scores in descending order, with their intervals.

    The best entry starts rank 1. A following entry whose interval overlaps that of the entry which
    started the rank shares it; the first other entry starts the next rank, which counts all above:
    1, 1, 3. No entry is ranked above a higher score.
    """
    ranks: list[int] = []
    first = 0
    for place, (_, (low, high)) in enumerate(scores):
        first_low, first_high = scores[first][1]
        if not (low <= first_high and first_low <= high):
            first = place
        ranks.append(first + 1)
    return ranks


def _order(ranking: Ranking) -> tuple[object, ...]:
    usual = ranking.suite != "core", ranking.suite, -ranking.version, ranking.split != "test"
    return (*usual, ranking.apart, ranking.hash, ranking.sealed_key_hash)


def _places(group: Iterable[SiteEntry]) -> tuple[tuple[int | None, SiteEntry], ...]:
    ordered = sorted(group, key=lambda entry: (-_score(entry), entry.directory))
    scored = [
        (entry.directory, score, interval)
        for entry in ordered
        if entry.is_ranked
        and (score := entry.figures.suite_score) is not None
        and (interval := entry.figures.suite_interval) is not None
    ]
    numbers = compute_ranks([(score, interval) for _, score, interval in scored])
    rank = {name: number for (name, _, _), number in zip(scored, numbers, strict=True)}
    return tuple((rank.get(entry.directory), entry) for entry in ordered)


def _score(entry: SiteEntry) -> float:
    score = entry.figures.suite_score
    return float("-inf") if score is None else score


@dataclass(frozen=True)
class Point:
    """A dated entry, the best score so far, and the day's position between 0 and 1."""

    entry: SiteEntry
    day: str
    score: float
    interval: Interval
    best: float
    share: float

    @property
    def leads(self) -> bool:
        """Whether this entry has the highest score up to its day."""
        return self.score == self.best


def history(ranking: Ranking) -> list[Point]:
    """Return the models' entries with a date and a score, sorted by date and score."""
    dated = sorted(
        (
            (entry.entry.date, -score, entry.directory, entry, interval)
            for _, entry in ranking.places
            if entry.is_ranked
            and entry.entry.date is not None
            and (score := entry.figures.suite_score) is not None
            and (interval := entry.figures.suite_interval) is not None
        ),
        key=lambda point: point[:3],
    )
    best, points = float("-inf"), []
    ends = (dated[0][0], dated[-1][0]) if dated else ()
    for day, negative, _, entry, interval in dated:
        best = max(best, -negative)
        now, first, last = (date.fromisoformat(text).toordinal() for text in (day, *ends))
        share = (now - first) / (last - first) if last > first else 0.5
        points.append(Point(entry, day, -negative, interval, best, share))
    return points


def count_undated(ranking: Ranking) -> int:
    """Return the number of ranked entries without a date."""
    return sum(rank is not None and entry.entry.date is None for rank, entry in ranking.places)
