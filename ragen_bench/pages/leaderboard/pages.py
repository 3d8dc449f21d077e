"""Renders the pages of the site."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic import BaseModel

from ragen_bench.environments import reference_note
from ragen_bench.escaping import escape_invisible, link
from ragen_bench.pages import formats
from ragen_bench.pages.leaderboard.ranking import Ranking, build_boards
from ragen_bench.pages.leaderboard.site_entries import Source
from ragen_bench.pages.rendering import page_environment

_SIZES = (
    ("under-1b", 10**9, "below 1 billion"),
    ("under-10b", 10**10, "1 to 10 billion"),
    ("under-100b", 10**11, "10 to 100 billion"),
    ("more", 10**18, "100 billion and more"),
)
_UNKNOWN_SIZE = "unsaid"
_KINDS = {"model": "language model", "agent": "agent", "person": "people", "scripted": "baseline"}


def render_pages(
    rankings: Sequence[Ranking], sources: Sequence[Source]
) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each page of the site."""
    functions = (describe_kind, size, size_class, breakable, link, reference_note)
    templates = page_environment("ragen_bench.pages.leaderboard", *functions)

    def render(name: str, **content: object) -> str:
        return templates.get_template(f"pages/{name}.html").render(sources=sources, **content)

    escaped = [_escape_ranking(ranking) for ranking in rankings]
    boards, filters = build_boards(escaped), _filters(escaped)
    yield "index.html", render("index", boards=boards, filters=filters)
    if sources:
        yield "reference.html", render("reference")
    for ranking in escaped:
        for rank, entry in ranking.places:
            rerun = entry.reproduction or {"envs": []}
            rows = [(row["env"], row) for row in rerun["envs"]]
            content = {"ranking": ranking, "rank": rank, "entry": entry}
            page = render("entry", rerun_rows=rows, **content)
            yield f"entries/{entry.directory}/index.html", page


def size(parameters: int | None) -> str:
    """Return a number of parameters in short form: 135M, 1.5B."""
    if parameters is None:
        return formats.NONE
    for unit, ones in (("T", 10**12), ("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if parameters >= 0.9995 * ones:  # 0.9995 rounds up to the next unit
            return f"{parameters / ones:.3g}{unit}"
    return str(parameters)


def size_class(parameters: int | None) -> str:
    """Return the value of the size filter for a number of parameters."""
    if parameters is None:
        return _UNKNOWN_SIZE
    return next(name for name, limit, _ in _SIZES if parameters < limit)


def describe_kind(kind: str) -> str:
    """Return the kind of a player in words."""
    return _KINDS[kind]


def breakable(env: str) -> list[str]:
    """Return the parts of an environment's name between which a line may break."""
    return re.findall(r"-v\d+$|[A-Z]?(?:(?!-v\d+$)[^A-Z])+|[A-Z]", formats.short(env))


def _filters(rankings: Sequence[Ranking]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return the filters that select a value: name, title and choices."""
    sizes = ((name, title) for name, _, title in _SIZES)
    splits = sorted({ranking.split for ranking in rankings}, reverse=True)
    found = {entry.kind for ranking in rankings for _, entry in ranking.places}
    kinds = [pair for pair in _KINDS.items() if pair[0] in found]
    settings = sorted({", ".join(ranking.apart) for ranking in rankings} - {""})
    return [
        ("split", "Split", [(split, split) for split in splits]),
        ("kind", "Player", kinds),
        ("size", "Model size", [*sizes, (_UNKNOWN_SIZE, "not stated")]),
        ("settings", "Settings", [("usual", "the suite's"), *((each, each) for each in settings)]),
    ]


def _escape_ranking(ranking: Ranking) -> Ranking:
    places = tuple(
        (rank, replace(each, entry=_escape(each.entry), reproduction=_escape(each.reproduction)))
        for rank, each in ranking.places
    )
    return replace(ranking, places=places)


def _escape(value: Any) -> Any:
    """Escape invisible characters in the texts of a JSON value or record."""
    if isinstance(value, str):
        return escape_invisible(value)
    if isinstance(value, BaseModel):
        return value.model_copy(update={name: _escape(item) for name, item in value})
    if isinstance(value, list):
        return [_escape(item) for item in value]
    if isinstance(value, dict):
        return {escape_invisible(name): _escape(item) for name, item in value.items()}
    return value
