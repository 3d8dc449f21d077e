"""The scores of an entry and of its rerun, side by side."""

from __future__ import annotations

from rich.console import Console

from ragen_bench.pages.formats import short
from ragen_bench.runs.schema import Object


def print_reproduction(console: Console, comparison: Object) -> None:
    """Print a line for the suite and each environment, and whether all intervals overlap."""
    rows = [("suite", comparison["suite"])]
    rows += [(short(row["env"]), row) for row in comparison["envs"]]
    console.print(f"{'score, 95 %':<18} {'entry':>26} {'rerun':>26}")
    for name, row in rows:
        entry, rerun = (_cell(row[side], row[f"{side}_interval"]) for side in ("entry", "rerun"))
        overlap = "overlap" if row["overlap"] else "APART"
        console.print(f"{name:<18} {entry:>26} {rerun:>26}  {overlap}", soft_wrap=True)
    console.print("Reproduced." if comparison["reproduced"] else "NOT reproduced.")


def _cell(value: float, bounds: list[float]) -> str:
    return f"{value:.3f} ({bounds[0]:.3f} to {bounds[1]:.3f})"
