"""The tables of a study's pages: verdicts, arms and runs as rows of text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ragen_bench.pages.escaping import escape_invisible
from ragen_bench.pages.formats import NONE, figure, fixed, percent
from ragen_envs.core.sums import sum_in_order
from ragen_starpo.studies.metrics import METRICS

Row: TypeAlias = list[str]
_BY_ENV = {"test": "test", "test_gain": "gains"}
"""Where a run stores the metrics with a value for each environment."""
VERDICT_COLUMNS = ["claim", "source", "verdict", "difference", "interval", "margin", "detectable"]
NOTES = {
    "verdicts": (
        "A claim holds if its whole interval is above the margin, and does not hold if all of it "
        "is below. Seeds that all have the same difference are judged by the sign test. All "
        "verdicts of a study together have the level of 95 % (Holm's correction). Detectable is "
        "the smallest distance from the margin that four of five such studies detect. Success is "
        "in per cent."
    ),
    "arms": (
        "Means over seeds; success in per cent. Start, best and last are success on val before, at "
        "best and after training; test is that of the last model on the test split. Rollouts are "
        "moving averages of five iterations. Collapsed is the percentage of runs whose rollouts "
        "lost half of their success for good; without a collapse, its iteration is the last one. "
        "A rank is a metric's rank correlation with success of the rollouts. The length of "
        "thoughts is in characters."
    ),
    "thoughts": (
        "Plan ok is the percentage of plans in thoughts that the response follows, true the "
        "percentage of true claims about the state. Both are on the test split; before is the "
        "first model."
    ),
    "failures": (
        "Failures alike is the overlap of the causes of failure in the first test environment and "
        "in another one, averaged over the others."
    ),
    "curves": "Means over seeds; the bands go from the lowest to the highest. -1 is before.",
    "runs": "Every run of the study; none is left out.",
}


def make_verdict_rows(results: Mapping[str, Any]) -> list[Row]:
    """Return a row for each claim."""
    return [_verdict_row(claim) for claim in results["claims"]]


def list_arm_columns(results: Mapping[str, Any]) -> list[str]:
    """Return the headings of the table of arms."""
    return ["arm", *_columns(results).values()]


def make_arm_rows(results: Mapping[str, Any]) -> list[Row]:
    """Return a row for each arm."""
    names = _columns(results)
    return [
        [arm["name"], *(_mean(name, arm["figures"].get(name)) for name in names)]
        for arm in results["arms"]
    ]


def list_run_columns(results: Mapping[str, Any]) -> list[str]:
    """Return the headings of the table of runs."""
    return ["run", *_columns(results, per_run=True).values(), "problem"]


def make_run_rows(results: Mapping[str, Any]) -> list[Row]:
    """Return a row for each run."""
    names = _columns(results, per_run=True)
    return [_run_row(run, names) for run in results["runs"]]


def explain_arm_columns(results: Mapping[str, Any]) -> str:
    """Return the note below the table of arms."""
    columns = _columns(results)
    extra = {"thoughts": "truth", "failures": "failures_alike"}
    return " ".join(NOTES[name] for name in ("arms", *(n for n in extra if extra[n] in columns)))


def _columns(results: Mapping[str, Any], per_run: bool = False) -> dict[str, str]:
    """Return the headings of the metrics that any run has a value for, by name."""
    known = {
        name
        for run in results["runs"]
        for name, value in run["figures"].items()
        if value is not None
    }
    known |= {name for name, key in _BY_ENV.items() if any(run[key] for run in results["runs"])}
    return {
        name: metric.heading
        for name, metric in METRICS.items()
        if metric.heading and name in known and (metric.per_run or not per_run)
    }


def render_markdown(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Return a table in Markdown, its first column aligned to the left."""
    marks = ["---", *("---:" for _ in columns[1:])]
    lines = [list(columns), marks, *([escape_markdown(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escape_markdown(text: str) -> str:
    """Return a text in one line, escaped for Markdown."""
    return re.sub(r"([\\`*_\[\]<>&|#])", r"\\\1", escape_invisible(text.replace("\n", " ")))


def _verdict_row(claim: Mapping[str, Any]) -> Row:
    verdict, name = claim["verdict"], claim["figure"]
    if verdict is None:
        return [claim["text"], claim["source"], "undecided", NONE, NONE, NONE, claim["problem"]]
    low, high = (_format(name, bound) for bound in verdict["interval"])
    return [
        claim["text"],
        claim["source"],
        verdict["word"],
        _format(name, verdict["mean"]),
        f"{low} to {high}",
        _format(name, verdict["margin"]),
        _format(name, verdict["detectable"]),
    ]


def _run_row(run: Mapping[str, Any], names: Iterable[str]) -> Row:
    metrics = dict(run["figures"])
    for name, key in _BY_ENV.items():
        rates = list(run[key].values())
        metrics[name] = sum_in_order(rates) / len(rates) if rates else None
    return [run["folder"], *(_format(name, metrics.get(name)) for name in names), run["problem"]]


def _mean(name: str, over_seeds: Mapping[str, Any] | None) -> str:
    return NONE if over_seeds is None else _format(name, over_seeds["mean"])


def _format(name: str, value: float | None) -> str:
    unit = METRICS[name].unit
    if unit == "percent":
        return percent(value)
    if unit == "number" and (value is None or value >= 100):
        return figure(value if value is None else round(value))
    return fixed(value, 2 if unit == "rank" else 1)
