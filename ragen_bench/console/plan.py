"""What finds a difference, as a table."""

from __future__ import annotations

from rich.console import Console

from ragen_bench.console.formats import fixed
from ragen_bench.pages.formats import short
from ragen_bench.runs.schema import Object

_SIDES = ("unpaired", "paired")
_HEADING = """\
           instances of each          found with those
          environment needed             there are
 samples    other      same          other      same
 ────────────────────────────────────────────────────"""
_EXPLAINED = """\
other: each model plays instances of its own; same: both play the same ones, and
`ragen-bench compare` pairs them. Found: the smallest difference of which the
95 % interval leaves out 0 four times in five, in points of success."""


def print_plan(console: Console, planned: Object) -> None:
    """Print the question, the table and what it assumes."""
    points = f"{100 * planned['difference']:g}"
    console.print(f"To find a difference of {points} points of success, four times in five, in")
    for env, count in planned["envs"].items():
        console.print(f"  {short(env)}, {count:,} instances", soft_wrap=True)
    console.print(f"\n{_HEADING}", highlight=False)
    for row in planned["rows"]:
        needed = "".join(f"{row['instances'][side]:>10,}" for side in _SIDES)
        found = "".join(f"{fixed(100 * row['find'][side], 1):>10}" for side in _SIDES)
        console.print(f" {row['samples']:>7}{needed}    {found}", highlight=False)
    console.print(f"\n{_EXPLAINED}")
    if line := _assumed(planned["assumed"]):
        console.print(line)


def _assumed(assumed: Object) -> str:
    """Return what no run told."""
    words = {
        "success": "a success of {:g} %",
        "share": "{:g} % of its variance between instances",
        "correlation": "a correlation of {:g} % between models over instances",
    }
    parts = [words[name].format(100 * value) for name, value in assumed.items()]
    return f"Assumed: {', '.join(parts)}; runs named with --like tell more." if parts else ""
