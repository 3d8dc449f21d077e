"""The page of a comparison of runs with the first of them."""

from __future__ import annotations

from typing import NamedTuple

from ragen_bench.pages.formats import short
from ragen_bench.pages.rendering import page_environment
from ragen_bench.runs.schema import Object


class _Group(NamedTuple):
    """What one heading of the table has: the letter of each other run, and its row."""

    heading: str
    rows: list[tuple[str, Object]]


def comparison_page(compared: Object, home: str | None = None) -> str:
    """Return a page with the differences of the runs.

    Args:
        compared: what `compare_with_first` returns.
        home: address of the page that lists the runs, if it is served beside it.
    """
    template = page_environment("ragen_bench.pages.comparison", signed).get_template("page.html")
    notes = [note for differences in compared["comparisons"] for note in differences["notes"]]
    return template.render(
        runs=compared["runs"],
        of=compared["comparisons"][0],
        groups=_groups(compared),
        notes=list(dict.fromkeys(notes)),
        home=home,
    )


def signed(value: float, scale: int = 1, digits: int = 2) -> str:
    """Return a difference with its sign."""
    digits = 1 if scale == 100 else digits
    # Adding 0 turns -0.0 into 0.0: what rounds to nothing has one sign.
    rounded = round(scale * value, digits) + 0.0
    return f"{rounded:+.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _groups(compared: Object) -> list[_Group]:
    """Return the rows by environment, then those of the mean where there is one."""
    groups: dict[str, _Group] = {}
    means = _Group("mean", [])
    for run, differences in zip(compared["runs"][1:], compared["comparisons"], strict=True):
        for row in differences["envs"]:
            group = groups.setdefault(row["env"], _Group(short(row["env"]), []))
            group.rows.append((run["name"], row))
        if len(differences["envs"]) > 1 and differences["suite"]["success"]:
            means.rows.append((run["name"], differences["suite"]))
    return [*groups.values(), *([means] if means.rows else [])]
