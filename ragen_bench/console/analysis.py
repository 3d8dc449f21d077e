"""Tables of an analysis: causes of failure, and measures of reasoning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from ragen_bench.console.tables import FiguresTable
from ragen_bench.pages.formats import short
from ragen_bench.runs.schema import Object


def print_analysis(console: Console, analysis: Object, path: Path) -> None:
    """Print both tables, and which episodes are in none of them.

    Args:
        console: where they are printed.
        analysis: of the run.
        path: the run directory.
    """
    console.print(failure_table(analysis))
    console.print(reasoning_table(analysis))
    for row in analysis["envs"]:
        if row["not_replayed"]:
            console.print(
                f"Left out of {short(row['env'])}: {row['not_replayed']} whose records differ "
                f"from their replay, see `ragen-bench replay {path}`."
            )


def failure_table(analysis: Object) -> FiguresTable:
    """Return the causes of failure of each environment, and below them what each means."""
    causes = [cause for row in analysis["envs"] for cause in row["failures"]]
    about = dict.fromkeys(f"{cause['label']}: {cause['about']}" for cause in causes)
    table = FiguresTable("Why episodes failed", "\n".join(about), ("n", "%", "first example"))
    for row in analysis["envs"]:
        share = f"{100 * row['failed'] / max(row['episodes'], 1):.0f}"
        table.add_row(short(row["env"]), f"{row['failed']} of {row['episodes']}", share)
        for cause in row["failures"]:
            index, sample, turn = cause["examples"][0]
            example = f"{index}/{sample}, turn {turn}"
            shown = str(cause["episodes"]), f"{100 * cause['share']:.0f}", example
            table.add_row(f"  {cause['label']}", *shown)
    return table


def reasoning_table(analysis: Object) -> FiguresTable:
    """Return the measures of reasoning of each environment."""
    columns = (
        "turns",
        "words",
        "cut",
        "plan ok",
        "true",
        "other",
        "unread",
        "zip",
        "dist-2",
        "same",
    )
    table = FiguresTable("How the model reasoned", _CAPTION, columns)
    for row in analysis["envs"]:
        table.add_row(short(row["env"]), *_reasoning_cells(row["reasoning"]))
    return table


_CAPTION = (
    "words: mean length of a thought. cut: % of answers that reached the token limit. plan ok: "
    "answers that follow the plan in their thought, of those with a clear one. true: claims about "
    "places or sums that are so, of those read; other: the same on another instance's "
    "board; unread: seeming claims that were not read. Over the first thoughts of all instances: "
    "zip: compression ratio; dist-2: different pairs of words; same: % that stand word for word "
    "with another instance."
)


def _reasoning_cells(reasoning: Object) -> list[str]:
    plans, claims, diverse = reasoning["plans"], reasoning["claims"], reasoning["diversity"] or {}
    same = diverse.get("repeated")
    return [
        f"{reasoning['turns']:,}",
        _figure(reasoning["words_mean"], "{:.1f}"),
        _figure(reasoning["cut_share"], "{:.0%}"),
        f"{plans['agree']}/{plans['agree'] + plans['differ']}",
        _true(claims),
        _true(claims["elsewhere"]),
        str(claims["unread"]),
        _figure(diverse.get("compression"), "{:.1f}"),
        _figure(diverse.get("distinct", [None] * 3)[1], "{:.2f}"),
        _figure(same, "{:.0%}"),
    ]


def _true(claims: Object) -> str:
    return f"{claims['true']}/{claims['true'] + claims['false']}"


def _figure(value: Any, form: str) -> str:
    return "-" if value is None else form.format(value).removesuffix("%")
