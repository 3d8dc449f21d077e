"""The differences of two runs as a table."""

from __future__ import annotations

from rich.console import Console

from ragen_bench.console.tables import FiguresTable
from ragen_bench.console.visible import visible
from ragen_bench.pages.formats import short
from ragen_bench.runs.schema import Object

_EXPLAINED = (
    "Success in per cent; norm.: 0 is the random player, 1 the best one. n: instances that both "
    "played. A - B with its 95 % interval, of pairs on the same instance. A>B: instances that "
    "only A solved; of several samples, that A solved more often; - if one run has more samples."
)


def print_comparison(console: Console, differences: Object) -> None:
    """Print the two runs, the table of their differences, and notes on what was left out."""
    for letter, side in (("A", differences["a"]), ("B", differences["b"])):
        console.print(f"{letter}  {visible(side['model'])}, {side['run']}", soft_wrap=True)
    console.print(comparison_table(differences))
    for note in differences["notes"]:
        console.print(f"Note: {visible(note)}", soft_wrap=True)


def comparison_table(differences: Object) -> FiguresTable:
    """Return a table with two rows for each environment and for the suite."""
    title = f"A - B on the {differences['split']} split"
    table = FiguresTable(title, _EXPLAINED, ("n", "A", "B", "A - B", "95 %", "A>B", "B>A"))
    for row in differences["envs"]:
        ahead = ["-" if row[name] is None else str(row[name]) for name in ("a_ahead", "b_ahead")]
        main = _percents(row["success"]) if row["success"] else _scores(row["return"])
        table.add_row(short(row["env"]), str(row["instances"]), *main, *ahead)
        if not row["success"]:
            table.add_row("  (returns)")
            continue
        table.add_row("  norm.", "", *_scores(row["normalised"]))
    if len(differences["envs"]) > 1 and differences["suite"]["success"]:
        table.add_row("")
        table.add_row("mean", "", *_percents(differences["suite"]["success"]))
        table.add_row("  norm.", "", *_scores(differences["suite"]["normalised"]))
    return table


def _percents(figures: Object) -> list[str]:
    return _cells(figures, 100, 1)


def _scores(figures: Object | None) -> list[str]:
    return ["-"] * 4 if figures is None else _cells(figures, 1, 2)


def _cells(figures: Object, scale: int, digits: int) -> list[str]:
    """Return both figures, their difference and its interval, scaled and rounded."""
    values = [figures["a"], figures["b"], figures["difference"], *figures["interval"]]
    # Adding 0 turns -0.0, which would be shown with its sign, into 0.0.
    a, b, *signed = (round(scale * value, digits) + 0.0 for value in values)
    difference, low, high = (f"{value:+.{digits}f}" for value in signed)
    return [f"{a:.{digits}f}", f"{b:.{digits}f}", difference, f"{low} to {high}"]
