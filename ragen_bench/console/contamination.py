"""A model on public and on sealed or drawn instances, as a table with what it says."""

from __future__ import annotations

from rich.console import Console

from ragen_bench.console.formats import fixed, percent
from ragen_bench.console.tables import FiguresTable
from ragen_bench.pages.formats import short
from ragen_bench.runs.schema import Object
from ragen_bench.visible import visible

_EXPLAINED = (
    "Success in per cent on instances that are public and on {0} ones; lead: public - {0}, "
    "with its 95 % interval, of independent runs; finds: the lead that such runs find four times "
    "in five."
)


def print_contamination(console: Console, found: Object) -> None:
    """Print the table, and in a sentence what it says."""
    unseen = found["sealed"]["split"]
    title = f"{visible(found['public']['model'])}, {found['split']} less {unseen}"
    columns = ("n", "public", "n", unseen, "lead", "95 %", "finds")
    table = FiguresTable(title, _EXPLAINED.format(unseen), columns)
    for row in found["envs"]:
        counts = [f"{row['instances'][side]:,}" for side in ("public", "sealed")]
        table.add_row(short(row["env"]), *_cells(row, *counts))
    if len(found["envs"]) > 1:
        table.add_row("")
        table.add_row("mean", *_cells(found["suite"], "", ""))
    console.print(table)
    console.print(said(found["suite"], unseen))


def said(suite: Object, unseen: str = "sealed") -> str:
    """Return what the mean over environments says of public and of unseen instances."""
    low, high = suite["interval"]
    if low > 0:
        return "It solves public instances more often than chance explains: it may have seen them."
    if high < 0:
        return f"It solves {unseen} instances more often than chance explains; seen ones would not."
    least = suite["detectable"]
    could = "" if least is None else f"; one of {percent(least)} points would be found"
    return f"No lead on public instances that chance does not explain{could}, four times in five."


def _cells(row: Object, public: str, sealed: str) -> list[str]:
    success, least = row["success"], row["detectable"]
    low, high = (f"{round(100 * bound, 1) + 0.0:+.1f}" for bound in row["interval"])
    return [
        public,
        percent(success["public"]),
        sealed,
        percent(success["sealed"]),
        f"{round(100 * row['difference'], 1) + 0.0:+.1f}",
        f"{low} to {high}",
        "-" if least is None else fixed(100 * least, 1),
    ]
