"""Rankings: the entries that may be compared, and the rank of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragen_bench.leaderboard.schema import Interval
from ragen_bench.pages.leaderboard.site_entries import SiteEntry


@dataclass(frozen=True)
class Ranking:
    """Entries that may be compared: all that is named here is the same for them.

    Attributes:
        suite: its name.
        version: of the suite.
        hash: of the suite, over instances and specifications.
        split: the split of the instances.
        sealed_key_hash: the hash of a sealed split's key, else "".
        apart: the settings that set the entries apart from the suite's usual ones, mostly none.
        places: rank and entry, best first. The floor, the ceiling and entries without a score have
            no rank.
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
        """A name for links, unique to this ranking."""
        parts = (self.suite, f"v{self.version}", self.split, self.hash, self.sealed_key_hash[:12])
        return re.sub(r"[^a-z0-9]+", "-", "-".join((*parts, *self.apart)).lower()).strip("-")

    @property
    def envs(self) -> list[str]:
        """The ids of the suite's environments."""
        return [row.env for row in self.places[0][1].figures.rows]


def rankings(entries: Iterable[SiteEntry]) -> list[Ranking]:
    """Return the rankings: `core` first, newer versions first, unusual settings last."""
    groups: dict[tuple[str, int, str, str, str, tuple[str, ...]], list[SiteEntry]] = {}
    for entry in entries:
        groups.setdefault(_key(entry), []).append(entry)
    unordered = (Ranking(*key, places=_places(group)) for key, group in groups.items())
    return sorted(unordered, key=_order)


def ranks(scores: Sequence[tuple[float, Interval]]) -> list[int]:
    """Return the ranks of scores that fall, with their intervals.

    The best entry opens rank 1. Going down, an entry whose interval shares a point with that of
    the entry which opened the rank has the same rank; the first that does not opens the next
    one, which counts all above it: 1, 1, 3. So no entry stands above a higher score.

    Args:
        scores: the highest first.
    """
    given: list[int] = []
    opened = 0
    for place, (_, (low, high)) in enumerate(scores):
        first_low, first_high = scores[opened][1]
        if not (low <= first_high and first_low <= high):
            opened = place
        given.append(opened + 1)
    return given


def _key(entry: SiteEntry) -> tuple[str, int, str, str, str, tuple[str, ...]]:
    run = entry.run
    return (
        run.suite,
        run.suite_version,
        run.suite_hash,
        run.split,
        run.sealed_key_hash,
        tuple(entry.apart),
    )


def _order(ranking: Ranking) -> tuple[object, ...]:
    usual = ranking.suite != "core", ranking.suite, -ranking.version, ranking.split != "test"
    return (*usual, ranking.apart, ranking.hash, ranking.sealed_key_hash)


def _places(group: Iterable[SiteEntry]) -> tuple[tuple[int | None, SiteEntry], ...]:
    ordered = sorted(group, key=lambda entry: (-_score(entry), entry.directory))
    scored = [
        (entry.directory, score, interval)
        for entry in ordered
        if entry.scripted is None
        and (score := entry.figures.suite_score) is not None
        and (interval := entry.figures.suite_interval) is not None
    ]
    numbers = ranks([(score, interval) for _, score, interval in scored])
    rank = {name: number for (name, _, _), number in zip(scored, numbers, strict=True)}
    return tuple((rank.get(entry.directory), entry) for entry in ordered)


def _score(entry: SiteEntry) -> float:
    score = entry.figures.suite_score
    return float("-inf") if score is None else score
