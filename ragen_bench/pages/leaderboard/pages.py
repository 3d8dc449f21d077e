"""The pages of the site, as texts."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import BaseModel

from ragen_bench.environments import reference_note
from ragen_bench.pages import formats
from ragen_bench.pages.escaping import link, shown
from ragen_bench.pages.leaderboard.history import history, undated
from ragen_bench.pages.leaderboard.ranking import Ranking
from ragen_bench.pages.leaderboard.reference import Source
from ragen_bench.pages.leaderboard.site_entries import SiteEntry
from ragen_bench.pages.rendering import page_environment

_SIZES = (
    ("under-1b", 10**9, "below 1 billion"),
    ("under-10b", 10**10, "1 to 10 billion"),
    ("under-100b", 10**11, "10 to 100 billion"),
    ("more", 10**18, "100 billion and more"),
)
_UNSTATED = "unsaid"


class Pages:
    """The site's pages as texts.

    Args:
        rankings: the rankings.
        sources: the published figures.
    """

    def __init__(self, rankings: Sequence[Ranking], sources: Sequence[Source]) -> None:
        self._rankings = [_visible_ranking(ranking) for ranking in rankings]
        self._sources = sources
        filters = (size, size_class, breakable, link, history, undated, reference_note)
        self._templates = page_environment("ragen_bench.pages.leaderboard", *filters)

    def all(self) -> Iterator[tuple[str, str]]:
        """Yield the pages' paths in the site, and their texts."""
        filters = _filters(self._rankings)
        rankings = [(ranking, _axis(ranking)) for ranking in self._rankings]
        yield "index.html", self._page("index", rankings=rankings, filters=filters)
        if self._sources:
            yield "reference.html", self._page("reference")
        for ranking in self._rankings:
            ranked = sum(rank is not None for rank, _ in ranking.places)
            for rank, entry in ranking.places:
                about = {"ranking": ranking, "rank": rank, "ranked": ranked, "entry": entry}
                rerun = entry.reproduction or {"envs": []}
                rows = [(row["env"], row) for row in rerun["envs"]]
                yield (
                    f"entries/{entry.directory}/index.html",
                    self._page("entry", **about, rerun_rows=rows),
                )

    def _page(self, name: str, **content: Any) -> str:
        page = self._templates.get_template(f"pages/{name}.html")
        return page.render(sources=self._sources, **content)


def size(parameters: int | None) -> str:
    """Return a number of parameters in short: 135M, 1.5B."""
    if parameters is None:
        return formats.NONE
    for unit, ones in (("T", 10**12), ("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if parameters >= 0.9995 * ones:  # what rounds to one of the next unit is one
            return f"{parameters / ones:.3g}{unit}"
    return str(parameters)


def size_class(parameters: int | None) -> str:
    """Return the choice of the filter that a number of parameters belongs to."""
    if parameters is None:
        return _UNSTATED
    return next(name for name, limit, _ in _SIZES if parameters < limit)


def breakable(env: str) -> list[str]:
    """Return the parts of an environment's name between which a line may break."""
    return re.findall(r"[A-Z]?[^A-Z]+|[A-Z]", formats.short(env))


def _filters(rankings: Sequence[Ranking]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return the filters: name, title and choices."""
    sizes = ((name, title) for name, _, title in _SIZES)
    splits = sorted({ranking.split for ranking in rankings}, reverse=True)
    return [
        (
            "size",
            "Model size",
            [*sizes, (_UNSTATED, "not said")],
        ),
        ("split", "Split", [(split, split) for split in splits]),
        ("verified", "Verified", [("yes", "yes"), ("no", "no")]),
        ("reproduced", "Reproduced", [("yes", "yes"), ("no", "not, or not tried")]),
        ("answers", "Answers", [("free", "free"), ("constrained", "constrained")]),
    ]


def _axis(ranking: Ranking) -> tuple[float, float]:
    """Return the lowest and the highest suite score that a ranking draws."""
    intervals = [entry.figures.suite_interval or (0.0, 1.0) for _, entry in ranking.places]
    return min(0.0, *(low for low, _ in intervals)), max(1.0, *(high for _, high in intervals))


def _visible_ranking(ranking: Ranking) -> Ranking:
    places = tuple((rank, _visible_entry(entry)) for rank, entry in ranking.places)
    return dataclasses.replace(ranking, places=places)


def _visible_entry(entry: SiteEntry) -> SiteEntry:
    return dataclasses.replace(
        entry, entry=_visible(entry.entry), reproduction=_visible(entry.reproduction)
    )


def _visible(value: Any) -> Any:
    """Return a JSON value or a record whose texts have visible characters only, see `shown`."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, BaseModel):
        return value.model_copy(update={name: _visible(item) for name, item in value})
    if isinstance(value, list):
        return [_visible(item) for item in value]
    if isinstance(value, dict):
        return {shown(name): _visible(item) for name, item in value.items()}
    return value
