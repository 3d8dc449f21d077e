"""What a run ends with: its table, its report, and where they lie."""

from __future__ import annotations

from pathlib import Path

from ragen_bench.analysis import analyse
from ragen_bench.errors import UserError, missing_extra
from ragen_bench.runs.directory import Record, RunDirectory, read_run
from ragen_bench.scores.cost import Prices, load_prices
from ragen_bench.scores.summary import summarise

try:
    from rich.console import Console
    from rich.text import Text

    from ragen_bench.console.plain import plain_console
    from ragen_bench.console.summary import cut_answers, opponent_lines, table
    from ragen_bench.pages.formats import figure
    from ragen_bench.pages.report import write_report
except ImportError as missing:
    raise missing_extra(missing, "bench") from missing


def report_run(path: Path, prices: Path | None) -> int:
    """Print a run's table anew and write its report.

    Args:
        path: the run directory.
        prices: a file of prices, see `load_prices`.

    Raises:
        UserError: if the directory holds no run, or one without episodes.
    """
    run, known = read_run(path), load_prices(prices)
    if not any(True for _ in run.episodes()):
        raise UserError(f"{path} holds no finished episode yet", exit_code=1)
    show_results(plain_console(), run, known)
    return 0


def show_results(console: Console, run: RunDirectory, prices: Prices) -> Record:
    """Summarise and analyse a run, write what follows from it, print the table.

    Returns:
        The summary.
    """
    with console.status(Text("Playing the random and the oracle row ...")):
        summary = summarise(run, prices)
    run.write_summary(summary)
    with console.status(Text("Reading the trajectories ...")):
        analysis = analyse(run)
        report = write_report(run, summary, analysis)
    console.print(table(summary, run.config["constrained"]))
    for line in opponent_lines(summary):
        console.print(line, soft_wrap=True)
    if said := cut_answers(summary, run.config["max_tokens"]):
        console.print(said, soft_wrap=True)
    if summary["cost"] and summary["cost"]["amount"]:
        cost = summary["cost"]
        console.print(f"Cost    {figure(cost['amount'])} {cost['currency']}", soft_wrap=True)
    if summary["episodes"] < summary["planned"]:
        console.print(_incomplete(summary), soft_wrap=True)
    console.print(f"Run     {run.path}", soft_wrap=True)
    console.print(f"Report  {report}", soft_wrap=True)
    return summary


def _incomplete(summary: Record) -> str:
    said = f"Incomplete: {summary['episodes']} of {summary['planned']} episodes"
    faults = summary["infra_faults"]
    if faults:
        said += f"; {faults} could not be played, faults.jsonl says why; they are in no figure"
    return f"{said}. The command of the run goes on from there."
