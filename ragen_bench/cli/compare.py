"""`compare`: differences of runs on the same instances."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ragen_bench.cli.shared_options import JsonOptions, ThirdPartyOptions
from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError
from ragen_bench.visible import visible, write_out

if TYPE_CHECKING:
    from rich.console import Console

    from ragen_bench.json_types import JsonObject
    from ragen_bench.terminal.tables import MetricsTable

_CAPTION = "success in %; norm.: 0 = random, 1 = best player; 95 %: interval of A - {0}"
_UNCORRECTED = "Intervals are not corrected for multiple comparisons.\n"
_LEAD_CAPTION = "success in %; lead: public - {0}, with its 95 % interval"
_NOTES = 2
"""Notes that are printed below a table."""


@dataclass(frozen=True, kw_only=True)
class Compare(JsonOptions, ThirdPartyOptions, Command):
    """Compares runs on the same instances.

    Of more than two runs, each is compared with the first. With --public and --sealed it tests
    whether one model does better on instances that it may have seen.
    """

    runs: Annotated[tuple[Path, ...], Argument("RUN", "two or more, compared with the first")] = ()
    public: Annotated[Path | None, Option("RUN", "run of a model on train, val or test")] = None
    sealed: Annotated[Path | None, Option("RUN", "run of the same model on sealed or drawn")] = None
    html: Annotated[Path | None, Option("FILE", "write a page of the comparison")] = None

    def run(self) -> int:
        """Print the table of differences, and write the comparison where that is asked for."""
        from ragen_bench.runs.directory import read_run
        from ragen_bench.scores.compare import compare_with_first
        from ragen_bench.terminal.console import plain_console

        if self.public or self.sealed:
            return self._compare_splits()
        if len(self.runs) < 2:
            raise UserError(
                "compare takes two runs or more, or --public RUN and --sealed RUN (try "
                "`ragen-bench compare --help`)"
            )
        with self.output() as content:
            self.import_environments()
            runs = [read_run(path) for path in self.runs]
            console = plain_console()
            with console.status("Playing the random player on the common instances ..."):
                compared = compare_with_first(runs)
            content.update(compared if len(runs) > 2 else compared["comparisons"][0])
            if not self.prints_json:
                _print_comparison(console, compared)
            if self.html:
                from ragen_bench.pages.comparison import render_comparison
                from ragen_bench.runs.atomic import write_text

                write_text(self.html, render_comparison(compared))
                write_out(f"Page  {self.html}\n")
        return 0

    def _compare_splits(self) -> int:
        from ragen_bench.pages.formats import short
        from ragen_bench.runs.directory import read_run
        from ragen_bench.scores.contamination import compare_public_and_sealed
        from ragen_bench.terminal.console import plain_console
        from ragen_bench.terminal.tables import MetricsTable

        if self.public is None or self.sealed is None or self.runs or self.html:
            raise UserError(
                "--public RUN and --sealed RUN go together, without other runs or --html"
            )
        with self.output() as content:
            self.import_environments()
            content.update(compare_public_and_sealed(read_run(self.public), read_run(self.sealed)))
            if not self.prints_json:
                unseen = content["sealed"]["split"]
                title = f"{visible(content['public']['model'])}, {content['split']} less {unseen}"
                columns = ("n", "public", "n", unseen, "lead", "95 %", "finds")
                table = MetricsTable(title, _LEAD_CAPTION.format(unseen), columns)
                for row in content["envs"]:
                    counts = [f"{row['instances'][side]:,}" for side in ("public", "sealed")]
                    table.add_row(short(row["env"]), *_lead_cells(row, *counts))
                if len(content["envs"]) > 1:
                    table.add_row("")
                    table.add_row("mean", *_lead_cells(content["suite"], "", ""))
                console = plain_console()
                console.print(table)
                console.print(describe_lead(content["suite"], unseen))
        return 0


def _print_comparison(console: Console, compared: JsonObject) -> None:
    from ragen_bench.people import describe_people
    from ragen_bench.scores.compare import collect_notes, describe_close

    for run in compared["runs"]:
        model = visible(run["model"]) + describe_people(run.get("people", 0))
        console.print(f"{run['name']}  {model}, {run['run']}", soft_wrap=True)
    pair = compared["comparisons"][0]
    console.print(
        comparisons_table(compared) if len(compared["runs"]) > 2 else comparison_table(pair)
    )
    close = describe_close(compared)
    notes = [*([close] if close else []), *(f"Note: {one}" for one in collect_notes(compared))]
    for number, note in enumerate(notes[:_NOTES], 1):
        is_cut = number == _NOTES < len(notes)
        more = f" ({len(notes) - _NOTES} more: --html FILE, --json)" if is_cut else ""
        console.print(f"{visible(note)}{more}", soft_wrap=True)


def comparison_table(differences: JsonObject) -> MetricsTable:
    """Return a table of two runs, with two rows for each environment and for the mean."""
    from ragen_bench.pages.formats import short
    from ragen_bench.scores.compare import has_mean
    from ragen_bench.terminal.tables import MetricsTable

    title = f"A - B on the {differences['split']} split"
    columns = ("n", "A", "B", "A - B", "95 %", "finds", "A>B", "B>A")
    table = MetricsTable(title, _CAPTION.format("B"), columns)
    for row in differences["envs"]:
        main, norm = _env_cells(row)
        table.add_row(short(row["env"]), *main)
        table.add_row(*norm)
        if effort := _effort_cells(row):
            table.add_row("  actions", *effort)
        if "blind" in row:
            table.add_row(*_blind_cells(row))
    if has_mean(differences):
        main, norm = _mean_cells(differences["suite"])
        table.add_row("")
        table.add_row("mean", *main)
        table.add_row(*norm)
    return table


def comparisons_table(compared: JsonObject) -> MetricsTable:
    """Return a table of several runs, with two rows for each run but the first."""
    from ragen_bench.pages.formats import short
    from ragen_bench.scores.compare import MEAN, group_by_environment
    from ragen_bench.terminal.tables import MetricsTable

    split = compared["comparisons"][0]["split"]
    title = f"A - X on the {split} split, for each other run X"
    columns = ("n", "A", "X", "A - X", "95 %", "finds", "A>X", "X>A")
    table = MetricsTable(title, _UNCORRECTED + _CAPTION.format("X"), columns)
    for env, rows in group_by_environment(compared).items():
        table.add_row("mean" if env == MEAN else short(env))
        for letter, row in rows:
            main, norm = _mean_cells(row) if env == MEAN else _env_cells(row)
            table.add_row(f"  {letter}", *main)
            table.add_row(f"  {norm[0]}", *norm[1:])
            if effort := _effort_cells(row):
                table.add_row("    actions", *effort)
        if "blind" in rows[0][1]:
            table.add_row(*_blind_cells(rows[0][1]))
    return table


def _env_cells(row: JsonObject) -> tuple[list[str], list[str]]:
    """Return the cells of an environment's row, and the whole row of norm. below it."""
    ahead = ["-" if row[name] is None else str(row[name]) for name in ("a_ahead", "b_ahead")]
    count = str(row["instances"])
    if not row["success"]:
        return [count, *_score_cells(row["return"]), *ahead], ["  (returns)"]
    main = [count, *_difference_cells(row["success"], 100, 1), *ahead]
    return main, ["  norm.", "", *_score_cells(row["normalised"])]


def _blind_cells(row: JsonObject) -> list[str]:
    """Return the row of the blind script, whose success stands next to that of both runs."""
    from ragen_bench.terminal.console import percent

    return ["  blind", "", *[percent(row["blind"]["success"])] * 2]


def _mean_cells(suite: JsonObject) -> tuple[list[str], list[str]]:
    norm = ["  norm.", "", *_score_cells(suite["normalised"])]
    return ["", *_difference_cells(suite["success"], 100, 1)], norm


def _effort_cells(row: JsonObject) -> list[str]:
    """Return the cells of the actions over the optimal ones; [] if they are not compared."""
    effort = row.get("actions_over_optimal")
    return [str(effort["instances"]), *_difference_cells(effort, 1, 2)] if effort else []


def _score_cells(difference: JsonObject | None) -> list[str]:
    return ["-"] * 5 if difference is None else _difference_cells(difference, 1, 2)


def _difference_cells(difference: JsonObject, scale: int, digits: int) -> list[str]:
    """Return both values, their difference, its interval and the detectable difference."""
    from ragen_bench.terminal.console import fixed

    low, high = (fixed(scale * bound, digits, "+") for bound in difference["interval"])
    detectable = difference["detectable"]
    return [
        fixed(scale * difference["a"], digits),
        fixed(scale * difference["b"], digits),
        fixed(scale * difference["difference"], digits, "+"),
        f"{low} to {high}",
        "-" if detectable is None else fixed(scale * detectable, digits),
    ]


def describe_lead(suite: JsonObject, unseen: str = "sealed") -> str:
    """Return the conclusion from the mean lead on public instances, in a sentence."""
    from ragen_bench.terminal.console import percent

    low, high = suite["interval"]
    if low > 0:
        return "It solves public instances more often than chance explains: it may have seen them."
    if high < 0:
        return (
            f"It solves {unseen} instances more often than chance explains, so contamination does "
            "not explain the difference."
        )
    detectable = suite["detectable"]
    power = f"; a lead of {percent(detectable)} points is detected with 80 % power"
    return f"No lead on public instances beyond chance{'' if detectable is None else power}."


def _lead_cells(row: JsonObject, public: str, sealed: str) -> list[str]:
    from ragen_bench.terminal.console import fixed, percent

    success, detectable = row["success"], row["detectable"]
    low, high = (fixed(100 * bound, 1, "+") for bound in row["interval"])
    return [
        public,
        percent(success["public"]),
        sealed,
        percent(success["sealed"]),
        fixed(100 * row["difference"], 1, "+"),
        f"{low} to {high}",
        "-" if detectable is None else fixed(100 * detectable, 1),
    ]
