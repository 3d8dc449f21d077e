"""The differences of runs as a table."""

from __future__ import annotations

from rich.console import Console

from ragen_bench.console.formats import fixed
from ragen_bench.console.tables import FiguresTable
from ragen_bench.pages.formats import short
from ragen_bench.runs.schema import Object
from ragen_bench.scores.comparison_rows import MEAN, has_mean, notes_of, rows_by_environment
from ragen_bench.visible import visible

_Rows = tuple[list[str], list[str]]
"""The cells behind a name, and a whole row below it."""
_EXPLAINED = (
    "Success in per cent; norm.: 0 is the random player, 1 the best one. n: instances that both "
    "played. A - {0} with its 95 % interval, of pairs on the same instance; finds: the difference "
    "that such runs find four times in five. A>{0}: instances that "
    "only A solved; of several samples, that A solved more often; - if one run has more samples."
)
_UNCORRECTED = (
    "Each interval is of 95 % by itself: of twenty that hold no difference, about one excludes 0."
)


def print_comparison(console: Console, differences: Object) -> None:
    """Print the two runs, the table of their differences, and notes on what was left out."""
    for letter, side in (("A", differences["a"]), ("B", differences["b"])):
        _print_run(console, letter, side)
    console.print(comparison_table(differences))
    _print_notes(console, differences["notes"])


def print_comparisons(console: Console, compared: Object) -> None:
    """Print the runs, the table of their differences from the first one, and all notes."""
    for run in compared["runs"]:
        _print_run(console, run["name"], run)
    console.print(comparisons_table(compared))
    _print_notes(console, notes_of(compared))


def _print_run(console: Console, letter: str, run: Object) -> None:
    console.print(f"{letter}  {visible(run['model'])}, {run['run']}", soft_wrap=True)


def _print_notes(console: Console, notes: list[str]) -> None:
    for note in notes:
        console.print(f"Note: {visible(note)}", soft_wrap=True)


def comparison_table(differences: Object) -> FiguresTable:
    """Return a table with two rows for each environment and for the suite."""
    title = f"A - B on the {differences['split']} split"
    table = FiguresTable(
        title, _EXPLAINED.format("B"), ("n", "A", "B", "A - B", "95 %", "finds", "A>B", "B>A")
    )
    for row in differences["envs"]:
        main, norm = _rows(row)
        table.add_row(short(row["env"]), *main)
        table.add_row(*norm)
    if has_mean(differences):
        main, norm = _mean_rows(differences["suite"])
        table.add_row("")
        table.add_row("mean", *main)
        table.add_row(*norm)
    return table


def comparisons_table(compared: Object) -> FiguresTable:
    """Return a table with two rows for each other run, by environment and for the mean."""
    split = compared["comparisons"][0]["split"]
    title = f"A - X on the {split} split, for each other run X"
    explained = f"X: the run of the row. {_EXPLAINED.format('X')} {_UNCORRECTED}"
    table = FiguresTable(title, explained, ("n", "A", "X", "A - X", "95 %", "finds", "A>X", "X>A"))
    for env, rows in rows_by_environment(compared).items():
        table.add_row("mean" if env == MEAN else short(env))
        for letter, row in rows:
            main, norm = _mean_rows(row) if env == MEAN else _rows(row)
            table.add_row(f"  {letter}", *main)
            table.add_row(f"  {norm[0]}", *norm[1:])
    return table


def _rows(row: Object) -> _Rows:
    """Return an environment's figures, and a row below them with its name."""
    ahead = ["-" if row[name] is None else str(row[name]) for name in ("a_ahead", "b_ahead")]
    count = str(row["instances"])
    if not row["success"]:
        return [count, *_scores(row["return"]), *ahead], ["  (returns)"]
    main = [count, *_percents(row["success"]), *ahead]
    return main, ["  norm.", "", *_scores(row["normalised"])]


def _mean_rows(suite: Object) -> _Rows:
    norm = ["  norm.", "", *_scores(suite["normalised"])]
    return ["", *_percents(suite["success"])], norm


def _percents(figures: Object) -> list[str]:
    return _cells(figures, 100, 1)


def _scores(figures: Object | None) -> list[str]:
    return ["-"] * 5 if figures is None else _cells(figures, 1, 2)


def _cells(figures: Object, scale: int, digits: int) -> list[str]:
    """Return both figures, their difference, its interval and what is found, all rounded."""
    values = [figures["a"], figures["b"], figures["difference"], *figures["interval"]]
    # Adding 0 turns -0.0, which would be shown with its sign, into 0.0.
    a, b, *signed = (round(scale * value, digits) + 0.0 for value in values)
    difference, low, high = (f"{value:+.{digits}f}" for value in signed)
    least = figures["detectable"]
    found = "-" if least is None else fixed(scale * least, digits)
    return [f"{a:.{digits}f}", f"{b:.{digits}f}", difference, f"{low} to {high}", found]
