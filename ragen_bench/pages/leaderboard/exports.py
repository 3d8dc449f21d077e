"""The machine-readable exports of the site: leaderboard.json and leaderboard.csv."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from ragen_bench.escaping import escape_csv_cell
from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.schema import Interval
from ragen_bench.pages.leaderboard.ranking import Ranking
from ragen_bench.pages.leaderboard.site_entries import SiteEntry, Source
from ragen_bench.runs.schema import RunConfig

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


def render_json_export(rankings: Sequence[Ranking], sources: Sequence[Source]) -> str:
    """Return the content of leaderboard.json, with unescaped texts of submitters."""
    boards = [
        {
            **{name: getattr(ranking, name) for name in _RANKING},
            "apart": list(ranking.apart),
            "entries": [_describe_entry(rank, entry) for rank, entry in ranking.places],
        }
        for ranking in rankings
    ]
    reported = [asdict(source) for source in sources]
    content = {"schema": SCHEMA, "boards": boards, "reported_elsewhere_not_comparable": reported}
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def render_csv(rankings: Sequence[Ranking]) -> str:
    """Return the content of leaderboard.csv, one line per entry and environment."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    metrics = (
        "success",
        "score",
        "normalised",
        "random_success",
        "oracle_success",
        "blind_success",
    )
    writer.writerow(
        [
            *(f"suite_{name}" if name in ("version", "hash") else name for name in _RANKING),
            *("apart", "rank", "entry", *_STATED, *_RUN),
            *("verified", "reproduced", "scripted", "signs"),
            *(f"draw_{name}" for name in _DRAW),
            *_columns("suite_score"),
            *("env", "episodes"),
            *(column for metric in metrics for column in _columns(metric)),
        ]
    )
    writer.writerows(map(escape_csv_cell, row) for ranking in rankings for row in _rows(ranking))
    return out.getvalue()


def _describe_entry(rank: int | None, entry: SiteEntry) -> JsonObject:
    return {
        "rank": rank,
        "entry": entry.directory,
        **{name: getattr(entry.entry, name) for name in _STATED},
        **{name: _setting(entry.run, name) for name in _RUN},
        "verified": entry.verified,
        "reproduced": entry.reproduced,
        "scripted": entry.scripted,
        "kind": entry.kind,
        "signs": [sign.as_json() for sign in entry.signs],
        "episodes_sha256": entry.entry.episodes_sha256,
        **asdict(entry.figures),
        "draw": {name: getattr(entry.draw, name) for name in _DRAW} if entry.draw else None,
        "reproduction": entry.reproduction,
    }


def _columns(metric: str) -> list[str]:
    return [metric, f"{metric}_low", f"{metric}_high"]


def _rows(ranking: Ranking) -> Iterator[list[Cell]]:
    common: list[Cell] = [getattr(ranking, name) for name in _RANKING]
    common.append("; ".join(ranking.apart))
    for rank, entry in ranking.places:
        stated = [getattr(entry.entry, name) for name in _STATED]
        stated += [_setting(entry.run, name) for name in _RUN]
        cells: list[Cell] = [rank, entry.directory]
        cells += [_yes_or_no(value) if isinstance(value, bool) else value for value in stated]
        cells += [_yes_or_no(entry.verified), _yes_or_no(entry.reproduced), entry.scripted]
        cells.append("; ".join(sign.name for sign in entry.signs))
        cells += [getattr(entry.draw, name, None) for name in _DRAW]
        cells += _with_interval(entry.figures.suite_score, entry.figures.suite_interval)
        for row in entry.figures.rows:
            yield [
                *common,
                *cells,
                row.env,
                row.episodes,
                *_with_interval(row.success, row.success_interval),
                *_with_interval(row.score, row.score_interval),
                *_with_interval(row.normalised, row.normalised_interval),
                *_with_interval(row.random.success, row.random.success_interval),
                *_with_interval(row.oracle.success, row.oracle.success_interval),
                *(
                    _with_interval(row.blind.success, row.blind.success_interval)
                    if row.blind
                    else (None, None, None)
                ),
            ]


def _setting(run: RunConfig, name: str) -> Cell:
    """Return an effective setting: None for a temperature that the server refused."""
    refused = name == "temperature" and name in run.left_to_server
    value: Cell = None if refused else getattr(run, name)
    return value


def _yes_or_no(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"


def _with_interval(value: float | None, interval: Interval | None) -> list[Cell]:
    return [value, *(interval or (None, None))]
