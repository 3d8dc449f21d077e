"""The results of a run: its table, its report, and where they are."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from ragen_bench.analysis import analyse
from ragen_bench.console.summary import (
    cut_answers,
    opponent_lines,
    reference_lines,
    return_lines,
    summary_table,
)
from ragen_bench.pages.formats import figure
from ragen_bench.pages.report import write_report
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.schema import Object
from ragen_bench.scores.cost import Prices
from ragen_bench.scores.summary import summarise


def write_results(console: Console, run: RunDirectory, prices: Prices) -> tuple[Object, Path]:
    """Summarise and analyse a run, and write both.

    Returns:
        The summary, and the report's file.
    """
    with console.status(Text("Playing the random and the oracle row ...")):
        summary = summarise(run, prices)
    run.write_summary(summary)
    with console.status(Text("Reading the trajectories ...")):
        return summary, write_report(run, summary, analyse(run))


def show_results(console: Console, run: RunDirectory, prices: Prices) -> Object:
    """Summarise and analyse a run, write summary and report, and print the table.

    Returns:
        The summary.
    """
    summary, report = write_results(console, run, prices)
    console.print(summary_table(summary, run.config.constrained))
    for line in reference_lines(summary):
        console.print(line)
    for line in (*return_lines(summary), *opponent_lines(summary)):
        console.print(line, soft_wrap=True)
    if line := cut_answers(summary, run.config.max_tokens):
        console.print(line, soft_wrap=True)
    if summary["cost"] and summary["cost"]["amount"]:
        cost = summary["cost"]
        console.print(f"Cost    {figure(cost['amount'])} {cost['currency']}", soft_wrap=True)
    if summary["episodes"] < summary["planned"]:
        console.print(_incomplete(summary), soft_wrap=True)
    console.print(f"Run     {run.path}", soft_wrap=True)
    console.print(f"Report  {report}", soft_wrap=True)
    return summary


def _incomplete(summary: Object) -> str:
    line = f"Incomplete: {summary['episodes']} of {summary['planned']} episodes"
    faults = summary["infra_faults"]
    if faults:
        line += f"; {faults} could not be played, faults.jsonl says why; they are in no figure"
    return f"{line}. The command of the run goes on from there."
