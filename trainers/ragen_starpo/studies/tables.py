"""The tables of a study's pages: verdicts, arms and runs as rows of text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from ragen_bench.pages.escaping import shown
from ragen_bench.pages.formats import NONE, figure, fixed, percent
from ragen_envs.core.sums import sum_in_order

Row: TypeAlias = list[str]
_OF_THOUGHTS = {
    "agreement_start": "plan ok before",
    "agreement": "plan ok",
    "truth_start": "true before",
    "truth": "true",
}
"""Columns of both tables where a run has figures of thoughts."""
_GAINS_OF_THOUGHTS = ("agreement_gain", "truth_gain")
_SHARES = {
    *(
        "test",
        "test_start",
        "test_gain",
        "start",
        "best",
        "last",
        "rise",
        "gain",
        "fall",
        "rollouts_start",
        "rollouts_best",
        "rollouts_last",
        "rollouts_rise",
        "rollouts_mean",
        "collapsed",
        "warned",
        "warning_right",
        "failures_alike",
    ),
    *(*_OF_THOUGHTS, *_GAINS_OF_THOUGHTS),
}
"""Figures that are shares of episodes or of runs, in per cent."""
_RANKS = {
    "information_rank": "rank of information",
    "entropy_rank": "rank of entropy",
    "rank_gain": "information less entropy",
}
"""Rank correlations with success, and the heads of their columns."""
_OF_ARMS = {
    "start": "start",
    "best": "best",
    "last": "last",
    "test_start": "test before",
    "test": "test",
    "test_gain": "test gain",
    "rollouts_start": "rollouts at first",
    "rollouts_best": "rollouts at best",
    "rollouts_last": "rollouts at last",
    "rollouts_mean": "rollouts on average",
    "collapsed": "collapsed",
    "collapse_iteration": "collapse at",
    "trained_tokens": "trained tokens",
    "environment_turns": "turns",
    "seconds": "seconds",
    "tokens_to_target": "tokens to target",
    **_RANKS,
    "information_last": "information at last",
    "failures_alike": "failures alike",
    "thought_length_start": "thoughts at first",
    "thought_length_last": "thoughts at last",
}
"""The figures of the table of arms, with the heads of their columns."""
_BY_ENV = {"test": "test", "test_gain": "gains"}
"""Figures that a run has by environment, and where."""
VERDICT_COLUMNS = ["claim", "source", "verdict", "difference", "interval", "margin", "detectable"]
_OF_RUNS = {
    name: head
    for name, head in _OF_ARMS.items()
    if name not in ("collapsed", "trained_tokens", "environment_turns", "tokens_to_target")
}
"""Those of the table of runs."""
NOTES = {
    "verdicts": (
        "A claim holds where its whole interval is above the margin, and does not where all of it "
        "is below; seeds that all have the same difference are judged by their signs. Together "
        "the verdicts of a study have 95 % by Holm's correction. Detectable is how far from the "
        "margin a difference must be to be told in four of five such studies. Success is in points "
        "of a hundred."
    ),
    "arms": (
        "Means over seeds, of success in per cent. Start, best and last are on val, before, at "
        "best and after training; test is that of the last model on the test split. Rollouts are "
        "those of five iterations at a time. Collapsed is the share of runs whose rollouts lost "
        "half of their success for good; an iteration without a collapse counts as the last one. "
        "A rank is a figure's rank correlation with success of the rollouts; thoughts are in "
        "characters."
    ),
    "thoughts": (
        "Plan ok is the share of plans in thoughts that the answer follows, true that of claims "
        "about the state; both on the test split, before as of the model that training begins with."
    ),
    "failures": (
        "Failures alike is the share of their causes that failed episodes of the first test "
        "environment and of another one have in common, on average over the others."
    ),
    "curves": "Means over the seeds; the bands go from the lowest to the highest. -1 is before.",
    "runs": "Every run of the study; none is left out.",
}


def verdict_rows(results: Mapping[str, Any]) -> list[Row]:
    """Return a row for each claim."""
    return [_verdict_row(claim) for claim in results["claims"]]


def arm_columns(results: Mapping[str, Any]) -> list[str]:
    """Return the heads of the table of arms."""
    return ["arm", *_shown(_OF_ARMS, results).values()]


def arm_rows(results: Mapping[str, Any]) -> list[Row]:
    """Return a row for each arm."""
    names = _shown(_OF_ARMS, results)
    return [
        [arm["name"], *(_mean(name, arm["figures"].get(name)) for name in names)]
        for arm in results["arms"]
    ]


def run_columns(results: Mapping[str, Any]) -> list[str]:
    """Return the heads of the table of runs."""
    return ["run", *_shown(_OF_RUNS, results).values(), "problem"]


def run_rows(results: Mapping[str, Any]) -> list[Row]:
    """Return a row for each run."""
    return [_run_row(run, _shown(_OF_RUNS, results)) for run in results["runs"]]


def notes_on_arms(results: Mapping[str, Any]) -> str:
    """Return what the columns of the table of arms mean."""
    columns = _shown(_OF_ARMS, results)
    more = {"thoughts": "truth", "failures": "failures_alike"}
    return " ".join(NOTES[note] for note in ("arms", *(n for n in more if more[n] in columns)))


def _shown(columns: Mapping[str, str], results: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the columns that any run has a figure for."""
    known = {
        name
        for run in results["runs"]
        for name, value in run["figures"].items()
        if value is not None
    }
    known |= {
        name for name, by_env in _BY_ENV.items() if any(run[by_env] for run in results["runs"])
    }
    every = {**columns, **_OF_THOUGHTS}
    return {name: head for name, head in every.items() if name in known}


def markdown(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Return a table in Markdown, its first column to the left."""
    marks = ["---", *("---:" for _ in columns[1:])]
    lines = [list(columns), marks, *([plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _verdict_row(claim: Mapping[str, Any]) -> Row:
    verdict, name = claim["verdict"], claim["figure"]
    if verdict is None:
        return [claim["text"], claim["source"], "undecided", NONE, NONE, NONE, claim["problem"]]
    low, high = (_written(name, bound) for bound in verdict["interval"])
    return [
        claim["text"],
        claim["source"],
        verdict["word"],
        _written(name, verdict["mean"]),
        f"{low} to {high}",
        _written(name, verdict["margin"]),
        _written(name, verdict["detectable"]),
    ]


def _run_row(run: Mapping[str, Any], names: Iterable[str]) -> Row:
    figures = dict(run["figures"])
    for name, by_env in _BY_ENV.items():
        rates = list(run[by_env].values())
        figures[name] = sum_in_order(rates) / len(rates) if rates else None
    return [run["folder"], *(_written(name, figures.get(name)) for name in names), run["problem"]]


def _mean(name: str, over_seeds: Mapping[str, Any] | None) -> str:
    return NONE if over_seeds is None else _written(name, over_seeds["mean"])


def _written(name: str, value: float | None) -> str:
    if name in _RANKS:
        return fixed(value, 2)
    as_text: Callable[[float | None], str] = percent if name in _SHARES else _count
    return as_text(value)


def _count(value: float | None) -> str:
    if value is None or value >= 100:
        return figure(value if value is None else round(value))
    return fixed(value, 1)


def plain(text: str) -> str:
    """Return a text that Markdown shows as it is, in one line."""
    return re.sub(r"([\\`*_\[\]<>&|#])", r"\\\1", shown(text.replace("\n", " ")))
