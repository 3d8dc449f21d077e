"""The table at the end of an evaluation, and the lines below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragen_bench.console.formats import fixed, interval, percent
from ragen_bench.console.tables import FiguresTable
from ragen_bench.environments import reference_note, why_reference
from ragen_bench.opponents.wording import replies_in_words
from ragen_bench.pages.formats import short
from ragen_bench.runs.schema import Object
from ragen_bench.statistics import Estimate, detectable_beside
from ragen_bench.visible import visible
from ragen_envs.core.sums import sum_in_order

_COLUMNS = ("n", "success", "95 %", "norm.", "form", "action", "tokens", "s")
_EXPLAINED = (
    "Success, form and action in per cent; norm.: 0 is the random player, 1 what the oracle "
    "scores in expectation (its row: what it scored); form, action: turns whose answer had the "
    "form, whose actions were all known; tokens generated; seconds."
)
_FINDS = "A model on other instances is told from it, four times in five, from {} apart on. "


def summary_table(summary: Object, constrained: bool = False) -> FiguresTable:
    """Return a table with the model's, the random and the oracle row of each environment.

    Args:
        summary: of the run.
        constrained: whether its answers were constrained to the form, which the title says.
    """
    table = FiguresTable(_title(summary, constrained), _caption(summary), _COLUMNS)
    for row in summary["envs"]:
        table.add_row(short(row["env"]), *_model_cells(row))
        for player in ("random", "oracle"):
            if row[player]:
                table.add_row(f"  {_called(player, row)}", *_scripted_cells(row, player))
    return table


def players_table(summaries: Sequence[Object]) -> FiguresTable:
    """Return a table of models that played the same instances, between random and oracle.

    Args:
        summaries: of their runs; an environment that is missing in one but the first gets a dash.
    """
    what = visible(summaries[0]["suite"]) or "chosen environments"
    title = f"{what}, {summaries[0]['split']} split"
    table = FiguresTable(title, f"-: not played. {_EXPLAINED}", _COLUMNS)
    for first in summaries[0]["envs"]:
        table.add_row(short(first["env"]))
        table.add_row("  random", *_scripted_cells(first, "random"))
        for summary in summaries:
            rows = {row["env"]: row for row in summary["envs"]}
            row = rows.get(first["env"])
            table.add_row(f"  {visible(summary['model'])}", *(_model_cells(row) if row else "--"))
        table.add_row(f"  {_called('oracle', first)}", *_scripted_cells(first, "oracle"))
    return table


def _called(player: str, row: Object) -> str:
    """Return what a scripted player is called beside an environment's row."""
    return "reference" if player == "oracle" and why_reference(row["env"]) else player


def _scripted_cells(row: Object, player: str) -> list[str]:
    """Return the cells of the random player or the oracle."""
    scaled = {"random": "0.00", "oracle": "1.00"}[player] if row["oracle"] else "-"
    return [str(row[player]["episodes"]), *_success(row[player]), scaled]


def _title(summary: Object, constrained: bool) -> str:
    what = visible(summary["suite"]) or "chosen environments"
    constraint = ", constrained to the form" if constrained else ""
    opponent = f" against {visible(summary['opponent'])}" if "opponent" in summary else ""
    model = visible(summary["model"])
    return f"{model}{opponent} on {what}, {summary['split']} split{constraint}"


def _model_cells(row: Object) -> list[str]:
    normalised = row["normalised"]
    return [
        str(row["episodes"]),
        *_success(row),
        "-" if normalised is None else fixed(normalised, 2),
        "-" if row["format_valid"] is None else percent(row["format_valid"]),
        "-" if row["action_valid"] is None else percent(row["action_valid"]),
        f"{row['completion_tokens']:,}",
        f"{row['seconds']:.1f}",
    ]


def _success(row: Object) -> tuple[str, str]:
    """Return success and its interval, a dash for each where it is not told."""
    if row["success"] is None:
        return "-", "-"
    return percent(row["success"]), interval(row["success_interval"])


def return_lines(summary: Object) -> list[str]:
    """Return a line for each environment that does not tell success: its mean return."""
    return [
        f"{visible(row['env'])} does not tell success: mean return {fixed(row['return'], 3)}, "
        f"95 % interval {fixed(row['return_interval'][0], 3)} to "
        f"{fixed(row['return_interval'][1], 3)}"
        + (f"; random {fixed(row['random']['return'], 3)}" if row["random"] else "")
        for row in summary["envs"]
        if row["success"] is None
    ]


def reference_lines(summary: Object) -> list[str]:
    """Return a line for each environment whose oracle is no best player: why not."""
    return [
        f"{short(row['env'])}: {note}"
        for row in summary["envs"]
        if row["oracle"] and (note := reference_note(row["env"]))
    ]


def success_lines(success: Mapping[str, Estimate], level: float, exact: bool) -> list[str]:
    """Return a line for each environment: its success and an interval of a level.

    Args:
        success: by environment.
        level: of the intervals, in (0, 1).
        exact: whether they are Clopper and Pearson's.
    """
    kind = "Clopper-Pearson" if exact else "as the table's"
    return [
        f"{short(env)}  success {percent(found.value)}, "
        f"{100 * level:g} %: {interval(found.interval)} ({kind})"
        for env, found in success.items()
    ]


def _caption(summary: Object) -> str:
    score = summary["suite_score"]
    name = "Suite score" if summary["suite"] else "Mean of norm."
    suite = f"No {name[0].lower()}{name[1:]}: not every environment has a norm. "
    if score is not None:
        low, high = (fixed(bound, 3) for bound in summary["suite_score_interval"])
        mean = ", the mean of norm." if summary["suite"] else "."
        least = detectable_beside(tuple(summary["suite_score_interval"]))
        finds = "" if least is None else _FINDS.format(fixed(least, 3))
        suite = f"{name} {fixed(score, 3)} [{low}, {high}]{mean} {finds}"
    return f"{suite}{_EXPLAINED}"


def opponent_lines(summary: Object) -> list[str]:
    """Return a line for each environment in which an opponent was asked: how it replied."""
    return [
        f"Replies of {visible(summary['opponent'])}: {row['opponent']['replies']:,}, of which "
        f"{replies_in_words(row['env'], row['opponent'])}; the rule answered random and oracle"
        for row in summary["envs"]
        if "opponent" in row
    ]


def cut_answers(summary: Object, max_tokens: int) -> str:
    """Return how many of a run's answers were cut at the token limit, or "" if none was.

    Args:
        summary: of the run.
        max_tokens: the limit.
    """
    turns = sum(row["turns"] for row in summary["envs"])
    cut = sum_in_order(row["turns"] * (row["cut"] or 0.0) for row in summary["envs"])
    return f"{percent(cut / turns)} % of answers were cut at {max_tokens} tokens" if cut else ""
