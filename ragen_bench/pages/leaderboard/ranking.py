"""Rankings of comparable entries, and boards: all entries of a suite in one table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

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
    def title(self) -> str:
        """The split and the settings in words; two sealed keys, or two hashes, may share one."""
        return ", ".join((f"{self.split} split", *self.apart))

    @property
    def anchor(self) -> str:
        """HTML anchor of the board."""
        return re.sub(r"[^a-z0-9]+", "-", f"{self.suite}-v{self.version}".lower())

    @property
    def ranked(self) -> int:
        """Number of entries with a rank."""
        return sum(rank is not None for rank, _ in self.places)


class Place(NamedTuple):
    """A row of a board: an entry, its rank, and the ranking in which it has that rank."""

    ranking: Ranking
    rank: int | None
    entry: SiteEntry


@dataclass(frozen=True)
class Board:
    """The rankings of one version of a suite, by their titles, which are unique in a board."""

    rankings: dict[str, Ranking]

    @property
    def suite(self) -> Ranking:
        """A ranking of the suite, for its name, version and anchor."""
        return next(iter(self.rankings.values()))

    @property
    def rows(self) -> list[tuple[str, Place]]:
        """All entries with the titles of their rankings, best score first."""
        rows = [
            (title, Place(ranking, *place))
            for title, ranking in self.rankings.items()
            for place in ranking.places
        ]
        return sorted(rows, key=lambda row: _by_score(row[1].entry))

    @property
    def envs(self) -> list[str]:
        """Environment ids of the suite."""
        return list(dict.fromkeys(row.env for _, p in self.rows for row in p.entry.figures.rows))

    @property
    def axis(self) -> tuple[float, float]:
        """The range of all suite scores with their intervals, at least from 0 to 1."""
        intervals = [place.entry.figures.suite_interval or (0.0, 1.0) for _, place in self.rows]
        return min(0.0, *(low for low, _ in intervals)), max(1.0, *(high for _, high in intervals))


def build_boards(rankings: Iterable[Ranking]) -> list[Board]:
    """Group rankings into boards; a hash follows a title that two have."""
    boards = []
    for _, group in groupby(rankings, key=lambda ranking: ranking.anchor):
        alike = list(group)
        titles = Counter(ranking.title for ranking in alike)
        named = {
            ranking.title
            if titles[ranking.title] == 1
            else f"{ranking.title}, {(ranking.sealed_key_hash or ranking.hash)[:8]}": ranking
            for ranking in alike
        }
        boards.append(Board(named))
    return boards


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
    ordered = sorted(group, key=_by_score)
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


def _by_score(entry: SiteEntry) -> tuple[float, str]:
    score = entry.figures.suite_score
    return float("inf") if score is None else -score, entry.directory
