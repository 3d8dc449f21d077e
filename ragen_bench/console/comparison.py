"""`compare`: the table of two runs' differences."""

from __future__ import annotations

import json
from pathlib import Path

from ragen_bench.console.visible import visible
from ragen_bench.errors import missing_extra
from ragen_bench.runs.directory import Record, read_run
from ragen_bench.scores.compare import compare

try:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
except ImportError as missing:
    raise missing_extra(missing, "bench") from missing

_EXPLAINED = (
    "Success in per cent; norm.: 0 is the random player, 1 the best one. n: instances that both "
    "played. A - B with its 95 % interval, of pairs on the same instance. A>B: instances that "
    "only A solved; of several samples, that A solved more often; - if one run has more samples."
)


def run_compare(a: Path, b: Path, out: Path | None) -> int:
    """Print how two runs differ.

    Args:
        a: a run directory.
        b: another.
        out: a file for the figures, as JSON.

    Raises:
        UserError: if a directory holds no run, or the runs may not stand side by side.
    """
    runs = read_run(a), read_run(b)
    console = Console(markup=False, highlight=False, emoji=False)
    with console.status("Playing the random player on the common instances ..."):
        found = compare(*runs)
    for letter, side in (("A", found["a"]), ("B", found["b"])):
        console.print(f"{letter}  {visible(side['model'])}, {side['run']}", soft_wrap=True)
    console.print(table(found))
    for note in found["notes"]:
        console.print(f"Note: {visible(note)}", soft_wrap=True)
    if out:
        out.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8", newline="\n")
        console.print(f"JSON  {out}", soft_wrap=True)
    return 0


def table(found: Record) -> Table:
    """Return a table with two rows for each environment and for the suite.

    It fits a terminal of 80 columns.
    """
    made = Table(
        title=Text(f"A - B on the {found['split']} split", style="table.title"),
        caption=_EXPLAINED,
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    made.add_column("environment", overflow="fold")  # a long name gives way, no figure does
    for column in ("n", "A", "B", "A - B", "95 %", "A>B", "B>A"):
        made.add_column(column, justify="right", no_wrap=True)
    for row in found["envs"]:
        ahead = ["-" if row[name] is None else str(row[name]) for name in ("a_ahead", "b_ahead")]
        env = Text(row["env"].partition("/")[2])
        made.add_row(env, str(row["instances"]), *_percents(row["success"]), *ahead, style="bold")
        made.add_row("  norm.", "", *_scores(row["normalised"]))
    if len(found["envs"]) > 1:
        made.add_section()
        made.add_row("mean", "", *_percents(found["suite"]["success"]), style="bold")
        made.add_row("  norm.", "", *_scores(found["suite"]["normalised"]))
    return made


def _percents(figures: Record) -> list[str]:
    return _cells(figures, 100, 1)


def _scores(figures: Record | None) -> list[str]:
    return ["-"] * 4 if figures is None else _cells(figures, 1, 2)


def _cells(figures: Record, scale: int, digits: int) -> list[str]:
    """Return both figures, their difference and its interval, scaled and rounded."""
    values = [figures["a"], figures["b"], figures["difference"], *figures["interval"]]
    # Adding 0 turns -0.0, which would be shown with its sign, into 0.0.
    a, b, *signed = (round(scale * value, digits) + 0.0 for value in values)
    difference, low, high = (f"{value:+.{digits}f}" for value in signed)
    return [f"{a:.{digits}f}", f"{b:.{digits}f}", difference, f"{low} to {high}"]
