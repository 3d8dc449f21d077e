"""The results of a run: its table, the lines below it, and the report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ragen_bench.analysis import fetch_analysis
from ragen_bench.environments import describe_replies, reference_note
from ragen_bench.episodes.form_rate import FormRate
from ragen_bench.json_types import JsonObject
from ragen_bench.pages.formats import figure, short
from ragen_bench.pages.report import write_report
from ragen_bench.people import describe_people
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.faults import describe_causes
from ragen_bench.scores.cost import Prices
from ragen_bench.scores.drops import count_drops, describe_drops, merge_drops
from ragen_bench.scores.summary import find_close_to_blind, summarise
from ragen_bench.statistics import Estimate, normalise
from ragen_bench.suites import states_form
from ragen_bench.terminal.console import fixed, interval, percent
from ragen_bench.terminal.tables import MetricsTable
from ragen_bench.visible import visible
from ragen_envs.core.sums import sum_in_order
from ragen_envs.registration import find_reference

_COLUMNS = ("n", "success", "95 %", "norm.", "form", "action", "tokens", "s")
_COLUMNS_OF_LINE = 80
_GIVEN_UP = "given up"
"""Column of the episodes that a server left unfinished, in a table with such episodes."""


def write_results(console: Console, run: RunDirectory, prices: Prices) -> tuple[JsonObject, Path]:
    """Summarise and analyse a run, write and return the summary, and the file of the report."""
    with console.status(Text("Playing the random player and the oracle ...")):
        summary = summarise(run, prices)
    run.write_summary(summary)
    with console.status(Text("Analysing the episodes ...")):
        return summary, write_report(run, summary, fetch_analysis(run))


def show_results(console: Console, run: RunDirectory, prices: Prices) -> tuple[JsonObject, Path]:
    """Write the results of a run, print its table and the lines below it; see `write_results`."""
    summary, report = write_results(console, run, prices)
    console.print(summary_table(summary, run.config.constrained))
    if notes := list(_list_notes(summary, run)):
        more = f" ({len(notes) - 1} more in the report)" if len(notes) > 1 else ""
        fits = len(notes[0]) > _COLUMNS_OF_LINE or len(notes[0] + more) <= _COLUMNS_OF_LINE
        console.print(f"{notes[0]}{more if fits else ''}", soft_wrap=True)
    console.print(f"Report  {report}", soft_wrap=True)
    return summary, report


def summary_table(summary: JsonObject, constrained: bool = False) -> MetricsTable:
    """Return a table with the rows of the model, the random player and the oracle."""
    suite = visible(summary["suite"]) or "chosen environments"
    constraint = ", constrained to the format" if constrained else ""
    opponent = f" against {visible(summary['opponent'])}" if "opponent" in summary else ""
    model = _player_of(summary)
    title = f"{model}{opponent} on {suite}, {summary['split']} split{constraint}"
    columns = (*_COLUMNS, _GIVEN_UP) if "given_up" in summary else _COLUMNS
    table = MetricsTable(title, _caption(summary), columns)
    for row in summary["envs"]:
        table.add_row(short(row["env"]), *_model_cells(row), *_given_up_cells(row, columns))
        for player in ("random", "blind", "oracle"):
            if row.get(player):
                table.add_row(f"  {_player_name(player, row)}", *_baseline_cells(row, player))
    return table


def players_table(summaries: Sequence[JsonObject]) -> MetricsTable:
    """Return a table of models on the same instances, between random player and oracle."""
    suite = visible(summaries[0]["suite"]) or "chosen environments"
    title = f"{suite}, {summaries[0]['split']} split"
    given_up = any("given_up" in summary for summary in summaries)
    columns = (*_COLUMNS, _GIVEN_UP) if given_up else _COLUMNS
    table = MetricsTable(title, "-: not played. norm.: 0 = random player, 1 = oracle.", columns)
    for first in summaries[0]["envs"]:
        table.add_row(short(first["env"]))
        for player in ("random", "blind"):
            if first.get(player):
                table.add_row(f"  {player}", *_baseline_cells(first, player))
        for summary in summaries:
            rows = {row["env"]: row for row in summary["envs"]}
            row = rows.get(first["env"])
            cells = [*_model_cells(row), *_given_up_cells(row, columns)] if row else "--"
            table.add_row(f"  {_player_of(summary)}", *cells)
        table.add_row(f"  {_player_name('oracle', first)}", *_baseline_cells(first, "oracle"))
    return table


def _player_of(summary: JsonObject) -> str:
    """Return the name of the model, with the number of people who played as it."""
    return visible(summary["model"]) + describe_people(summary.get("people", 0))


def _player_name(player: str, row: JsonObject) -> str:
    return "reference" if player == "oracle" and find_reference(row["env"]) else player


def _baseline_cells(row: JsonObject, player: str) -> list[str]:
    scaled = {"random": 0.0, "oracle": 1.0}.get(player) if row["oracle"] else None
    if player == "blind" and row["random"] and row["oracle"]:
        floor, ceiling = row["random"]["score"], row["oracle"]["ceiling"]
        scaled = normalise(row["blind"]["score"], floor, ceiling)
    normalised = "-" if scaled is None else fixed(scaled, 2)
    return [str(row[player]["episodes"]), *_success_cells(row[player]), normalised]


def _model_cells(row: JsonObject) -> list[str]:
    normalised = row["normalised"]
    return [
        str(row["episodes"]),
        *_success_cells(row),
        "-" if normalised is None else fixed(normalised, 2),
        "-" if row["format_valid"] is None else percent(row["format_valid"]),
        "-" if row["action_valid"] is None else percent(row["action_valid"]),
        f"{row['completion_tokens']:,}",
        f"{row['seconds']:.1f}",
    ]


def _given_up_cells(row: JsonObject, columns: Sequence[str]) -> list[str]:
    """Return the number of given-up episodes, in a table with a column for it."""
    return [str(sum(row.get("given_up", {}).values()))] * (_GIVEN_UP in columns)


def _success_cells(row: JsonObject) -> tuple[str, str]:
    """Return success and its interval; dashes where the environment does not report success."""
    if row["success"] is None:
        return "-", "-"
    return percent(row["success"]), interval(row["success_interval"])


def _caption(summary: JsonObject) -> str:
    """Return the score in a line, and the cost."""
    score, cost = summary["suite_score"], summary.get("cost")
    name = "suite score" if summary["suite"] else "mean of norm."
    line, scale = f"No {name}: some environments have no norm", ""
    if score is not None:
        low, high = (fixed(bound, 3) for bound in summary["suite_score_interval"])
        line, scale = (
            f"{name.capitalize()} {fixed(score, 3)} [{low}, {high}]",
            "; norm.: 0 random, 1 oracle",
        )
    if not (cost and cost["amount"]):
        return f"{line}{scale}."
    # In place of the scale, so that score and cost share a line of a terminal.
    each = f", {figure(cost['per_solved'])} per success" if "per_solved" in cost else ""
    return f"{line}. Cost {figure(cost['amount'])} {cost['currency']}{each}."


def _list_notes(summary: JsonObject, run: RunDirectory) -> Iterator[str]:
    """Yield what to know of the results, the most urgent first; all of it is in the report."""
    faults = summary["infra_faults"]
    if summary["episodes"] < summary["planned"]:
        causes = f" ({describe_causes(summary['given_up'])})" if "given_up" in summary else ""
        line = f"Incomplete: {summary['episodes']} of {summary['planned']} episodes"
        if faults:
            line += (
                f"; {faults} could not be played (see faults.jsonl) and count in no metric{causes}"
            )
        again = " With --on-error fail they count as failures." if faults else ""
        yield f"{line}. The same command resumes the run.{again}"
    if line := _describe_form(summary, run):
        yield line
    if drops := describe_all_drops(summary, run.config.max_tokens):
        yield drops
    for row in summary["envs"]:
        if row["success"] is None:
            low, high = (fixed(bound, 3) for bound in row["return_interval"])
            random = f"; random {fixed(row['random']['return'], 3)}" if row["random"] else ""
            yield (
                f"{visible(row['env'])} does not report success: mean return "
                f"{fixed(row['return'], 3)}, 95 % interval {low} to {high}{random}"
            )
    for row in summary["envs"]:
        if "opponent" in row:
            yield (
                f"Replies of {visible(summary['opponent'])}: {row['opponent']['replies']:,}, of "
                f"which {describe_replies(row['env'], row['opponent'])}; the rule answered random "
                "and oracle"
            )
    if close := find_close_to_blind(summary):
        yield _list_within("Not shown to be above random or blind:", [*map(short, close)])
    for row in summary["envs"]:
        if row["oracle"] and (note := reference_note(row["env"])):
            yield f"{short(row['env'])}: {note}"


def _describe_form(summary: JsonObject, run: RunDirectory) -> str:
    """Return why most answers are out of form and what to do, or ""."""
    rates = [(row["turns"], row["format_valid"]) for row in summary["envs"]]
    valid = sum_in_order(turns * (1 if rate is None else rate) for turns, rate in rates)
    if 2 * valid > sum(turns for turns, _ in rates):
        return ""
    rate = FormRate(run.config, states_form=any(states_form(env.id) for env in run.config.envs))
    for turn in (turn for episode in run.episodes() for turn in episode.turns):
        rate.add(turn, turn.format_is_valid)
    return rate.report


def _list_within(text: str, names: Sequence[str]) -> str:
    """Return a text with as many names as fit into a line, and the number of the others."""
    for shown in range(len(names), 0, -1):
        more = f" and {len(names) - shown} more" if shown < len(names) else ""
        line = f"{text} {', '.join(names[:shown])}{more}"
        if len(line) <= _COLUMNS_OF_LINE:
            break
    return line


def success_lines(success: Mapping[str, Estimate], level: float, exact: bool) -> list[str]:
    """Return a line for each environment with its success and an interval of a level in (0, 1)."""
    kind = "Clopper-Pearson" if exact else "same method as the table"
    return [
        f"{short(env)}  success {percent(estimate.value)}, "
        f"{100 * level:g} %: {interval(estimate.interval)} ({kind})"
        for env, estimate in success.items()
    ]


def describe_all_drops(summary: JsonObject, max_tokens: int) -> str:
    """Return the episodes that did not go as planned, by cause, and the mean score without them.

    Missing episodes have a line of their own. Without others, the text is empty.
    """
    rows = summary["envs"]
    drops = merge_drops([row["drops"] for row in rows if "drops" in row])
    if not drops:
        return ""
    count = sum(count_drops(drops).values())
    causes = describe_drops(drops).replace("the token limit", f"{max_tokens} tokens")
    line = f"Drops   {count:,} of {summary['planned']:,} episodes: {causes}"
    with_drops = [row["score"] for row in rows]
    without = [row.get("drops", {}).get("without", row).get("score") for row in rows]
    if None in with_drops or None in without or with_drops == without:
        return line
    means = [fixed(sum_in_order(scores) / len(rows), 3) for scores in (with_drops, without)]
    return f"{line}. Mean score {means[0]}, without them {means[1]}"
