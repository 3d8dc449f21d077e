"""The site's contents for programs: leaderboard.json and leaderboard.csv."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from ragen_bench.leaderboard.schema import Entry, Interval
from ragen_bench.pages.escaping import csv_cell
from ragen_bench.pages.leaderboard.ranking import Ranking
from ragen_bench.pages.leaderboard.reference import Source
from ragen_bench.pages.leaderboard.site_entries import SiteEntry
from ragen_bench.runs.schema import Object, RunConfig

SCHEMA = 1
_STATED = ("name", "submitter", "contact", "link", "parameters", "open_weights", "date")
_RUN = (
    "model",
    "samples",
    "seed",
    "temperature",
    "max_tokens",
    "response_format",
    "history",
    "constrained",
    "prompt_hash",
)
_DRAW = ("commitment", "value", "time")
_RANKING = ("suite", "version", "hash", "split", "sealed_key_hash")
Cell = str | float | None


def as_json(rankings: Sequence[Ranking], sources: Sequence[Source]) -> str:
    """Return the content of leaderboard.json; strangers' texts are as they wrote them."""
    content = {
        "schema": SCHEMA,
        "boards": [_ranking(ranking) for ranking in rankings],
        "reported_elsewhere_not_comparable": [asdict(source) for source in sources],
    }
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def as_csv(rankings: Sequence[Ranking]) -> str:
    """Return the content of leaderboard.csv: a line for each entry and environment.

    The suite's score stands in each of them. Cells that a spreadsheet would take for a formula
    begin with a quote.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_header())
    writer.writerows(map(csv_cell, row) for ranking in rankings for row in _rows(ranking))
    return out.getvalue()


def _ranking(ranking: Ranking) -> Object:
    return {
        **{name: getattr(ranking, name) for name in _RANKING},
        "apart": list(ranking.apart),
        "entries": [_entry(rank, entry) for rank, entry in ranking.places],
    }


def _entry(rank: int | None, entry: SiteEntry) -> Object:
    return {
        "rank": rank,
        "entry": entry.directory,
        **{name: getattr(entry.entry, name) for name in _STATED},
        **{name: _used(entry.run, name) for name in _RUN},
        "verified": entry.verified,
        "reproduced": entry.reproduced,
        "scripted": entry.scripted,
        "signs": [sign.as_json() for sign in entry.signs],
        "episodes_sha256": entry.entry.episodes_sha256,
        **asdict(entry.figures),
        "draw": {name: getattr(entry.draw, name) for name in _DRAW} if entry.draw else None,
        "reproduction": entry.reproduction,
    }


def _header() -> list[str]:
    figures = ["env", "episodes"]
    for name in ("success", "score", "normalised", "random_success", "oracle_success"):
        figures += _named(name)
    return [
        *(f"suite_{name}" if name in ("version", "hash") else name for name in _RANKING),
        *("apart", "rank", "entry", *_STATED, *_RUN, "verified", "reproduced", "scripted", "signs"),
        *(f"draw_{name}" for name in _DRAW),
        *_named("suite_score"),
        *figures,
    ]


def _named(figure: str) -> list[str]:
    return [figure, f"{figure}_low", f"{figure}_high"]


def _rows(ranking: Ranking) -> Iterator[list[Cell]]:
    """Yield the lines of a ranking, with the cells that the header names."""
    common: list[Cell] = [getattr(ranking, name) for name in _RANKING]
    common.append("; ".join(ranking.apart))
    for rank, entry in ranking.places:
        own = [rank, entry.directory, *_stated(entry.entry), *_settings(entry.run)]
        own += [_yes(entry.verified), _yes(entry.reproduced), entry.scripted]
        own.append("; ".join(sign.name for sign in entry.signs))
        own += [getattr(entry.draw, name, None) for name in _DRAW]
        own += _with_interval(entry.figures.suite_score, entry.figures.suite_interval)
        for row in entry.figures.rows:
            yield [
                *common,
                *own,
                row.env,
                row.episodes,
                *_with_interval(row.success, row.success_interval),
                *_with_interval(row.score, row.score_interval),
                *_with_interval(row.normalised, row.normalised_interval),
                *_with_interval(row.random.success, row.random.success_interval),
                *_with_interval(row.oracle.success, row.oracle.success_interval),
            ]


def _stated(entry: Entry) -> list[Cell]:
    return [_cell(getattr(entry, name)) for name in _STATED]


def _settings(run: RunConfig) -> list[Cell]:
    return [_cell(_used(run, name)) for name in _RUN]


def _used(run: RunConfig, name: str) -> Any:
    """Return a setting as it was used: None for a temperature that the server refused."""
    refused = name == "temperature" and name in run.left_to_server
    return None if refused else getattr(run, name)


def _cell(value: Any) -> Cell:
    return _yes(value) if isinstance(value, bool) else value


def _yes(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"


def _with_interval(value: float | None, interval: Interval | None) -> list[Cell]:
    return [value, *(interval or (None, None))]
