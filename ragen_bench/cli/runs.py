"""`report`, `replay`, `view` and `analyse`: the results of runs, from their records."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ragen_bench.cli.shared_options import (
    JsonOptions,
    PriceOptions,
    ReplayOptions,
    ThirdPartyOptions,
)
from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError

if TYPE_CHECKING:
    from ragen_bench.json_types import JsonObject
    from ragen_bench.terminal.tables import MetricsTable


@dataclass(frozen=True, kw_only=True)
class Report(JsonOptions, PriceOptions, ReplayOptions, Command):
    """Prints a run's table and writes its HTML report."""

    directory: Annotated[Path, Argument("RUN")]
    confidence: Annotated[
        float | None, Option("P", "also print success with intervals of P per cent")
    ] = None
    exact: Annotated[bool, Option(None, "also print Clopper and Pearson's exact intervals")] = False

    def run(self) -> int:
        """Recompute the summary, print it, and write the report."""
        with self.output() as content:
            self._report(content)
        return 0

    def _report(self, content: JsonObject) -> None:
        from ragen_bench.runs.directory import read_run
        from ragen_bench.scores.cost import load_prices
        from ragen_bench.scores.success import estimate_success
        from ragen_bench.terminal.console import plain_console
        from ragen_bench.terminal.results import show_results, success_lines

        self.import_named()
        run, prices = read_run(self.directory), load_prices(self.prices)
        if next(run.episodes(), None) is None:
            raise UserError(f"{self.directory} holds no finished episode yet", exit_code=1)
        console = plain_console()
        lines, intervals = [], {}
        if self.exact or self.confidence is not None:
            level = 0.95 if self.confidence is None else self.confidence / 100
            success = estimate_success(run.episodes(), level, self.exact)
            lines = success_lines(success, level, self.exact)
            envs = {env: [each.value, *each.interval] for env, each in success.items()}
            intervals = {"success": {"level": level, "exact": self.exact, "envs": envs}}
        summary, report = show_results(console, run, prices)
        content.update(run=str(self.directory), report=str(report), **summary, **intervals)
        for line in lines:
            console.print(line, soft_wrap=True)


@dataclass(frozen=True, kw_only=True)
class Replay(ReplayOptions, Command):
    """Recomputes a run from its responses and compares.

    Plays every episode of a run again from its responses alone and compares every field of the
    record. Ends with exit code 1 if anything differs.
    """

    directory: Annotated[Path, Argument("RUN")]

    def run(self) -> int:
        """Print a line for each difference; return 1 if there is one."""
        from ragen_bench.episodes.replay import replay
        from ragen_bench.runs.directory import read_run
        from ragen_bench.runs.specification import config_differences
        from ragen_bench.terminal.console import plain_console
        from ragen_bench.terminal.progress import replay_bar

        self.import_named()
        run, console = read_run(self.directory), plain_console()
        with console.status("Computing the specifications of the environments ..."):
            differences = list(config_differences(run.config))
        for difference in differences:
            console.print(f"run.json  {difference}", soft_wrap=True)
        replayed = unequal = 0
        with replay_bar(console, run) as advance:
            for key, problem in replay(run.config, run.episodes()):
                replayed += 1
                advance()
                if problem:
                    unequal += 1
                    console.print(f"{'/'.join(map(str, key))}  {problem}", soft_wrap=True)
        if not replayed:
            raise UserError(f"{run.path} holds no finished episode yet", exit_code=1)
        specification = "differs, see above" if differences else "as this version computes it"
        console.print(f"Specification: {specification}.")
        console.print(
            f"Replayed {replayed:,} of {run.config.planned:,} planned episodes: "
            f"{replayed - unequal:,} equal, {unequal:,} different."
        )
        return 1 if differences or unequal else 0


@dataclass(frozen=True, kw_only=True)
class View(ReplayOptions, Command):
    """Shows all runs below a folder on a page.

    Lists their metrics, which are updated while a run is written, opens their reports and compares
    the ticked ones. Only this machine can open the page, and nothing is written.
    """

    folder: Annotated[Path, Argument("DIR", "folder of the runs")] = Path("runs")
    port: Annotated[int, Option("N", "port of the page; 0 is a free one")] = 0

    def run(self) -> int:
        """Serve the page until Ctrl-C."""
        from ragen_bench.pages.view.server import ViewServer

        self.import_named()
        ViewServer(self.folder, self.port).serve("View")
        return 0


@dataclass(frozen=True, kw_only=True)
class Analyse(JsonOptions, ThirdPartyOptions, Command):
    """Explains why a run's episodes failed, and how the model reasoned.

    Replays a run, prints the causes of its failures and measures of its reasoning, and writes them
    to RUN/analysis.json.
    """

    directory: Annotated[Path, Argument("RUN")]

    def run(self) -> int:
        """Print the analysis and write it."""
        from ragen_bench.analysis import analyse
        from ragen_bench.pages.formats import short
        from ragen_bench.runs.directory import read_run
        from ragen_bench.runs.json_lines import write_whole
        from ragen_bench.terminal.console import plain_console
        from ragen_bench.terminal.progress import replay_bar

        with self.output() as content:
            self.import_environments()
            run = read_run(self.directory)
            console = plain_console()
            with replay_bar(console, run) as advance:
                analysis = analyse(run, advance)
            if not analysis["envs"]:
                raise UserError(f"{self.directory} holds no finished episode yet", exit_code=1)
            file = self.directory / "analysis.json"
            write_whole(file, analysis)
            content.update(analysis)
            if not self.prints_json:
                console.print(failure_table(analysis))
                console.print(reasoning_table(analysis))
                for row in analysis["envs"]:
                    if row["not_replayed"]:
                        console.print(
                            f"Left out of {short(row['env'])}: {row['not_replayed']} whose "
                            "records differ from their replay, see `ragen-bench replay "
                            f"{self.directory}`."
                        )
            console.print(f"Analysis  {file}", soft_wrap=True)
        return 0


def failure_table(analysis: JsonObject) -> MetricsTable:
    """Return the causes of failure by environment, with an explanation of the first below."""
    from ragen_bench.pages.formats import short
    from ragen_bench.terminal.tables import MetricsTable

    causes = [cause for row in analysis["envs"] for cause in row["failures"]]
    most = max(causes, key=lambda cause: int(cause["episodes"]), default=None)
    about = [f"{most['label']}: {most['about']}"] if most else []
    about += ["The others are explained in analysis.json."] if len(causes) > 1 else []
    table = MetricsTable("Why episodes failed", "\n".join(about), ("n", "%", "first example"))
    for row in analysis["envs"]:
        percent = f"{100 * row['failed'] / max(row['episodes'], 1):.0f}"
        table.add_row(short(row["env"]), f"{row['failed']} of {row['episodes']}", percent)
        for cause in row["failures"]:
            index, sample, turn = cause["examples"][0]
            table.add_row(
                f"  {cause['label']}",
                str(cause["episodes"]),
                f"{100 * cause['share']:.0f}",
                f"{index}/{sample}, turn {turn}",
            )
    return table


_COLUMNS = (
    *("turns", "words", "cut", "plan ok", "true", "other", "unread"),
    *("zip", "dist-2", "same"),
)
_CAPTION = (
    "words: per thought; cut: % at the token limit; plan ok: followed plans\n"
    "claims: true, true of another instance (other), not parsed (unread)\n"
    "first thoughts: compression (zip), bigrams (dist-2), % equal (same)"
)


def reasoning_table(analysis: JsonObject) -> MetricsTable:
    """Return the measures of reasoning by environment."""
    from ragen_bench.pages.formats import short
    from ragen_bench.terminal.tables import MetricsTable

    table = MetricsTable("How the model reasoned", _CAPTION, _COLUMNS)
    for row in analysis["envs"]:
        reasoning = row["reasoning"]
        plans, claims = reasoning["plans"], reasoning["claims"]
        diversity = reasoning["diversity"] or {}
        table.add_row(
            short(row["env"]),
            f"{reasoning['turns']:,}",
            _format(reasoning["words_mean"], "{:.1f}"),
            _format(reasoning["cut_share"], "{:.0%}"),
            f"{plans['agree']}/{plans['agree'] + plans['differ']}",
            *(
                f"{each['true']}/{each['true'] + each['false']}"
                for each in (claims, claims["elsewhere"])
            ),
            str(claims["unread"]),
            _format(diversity.get("compression"), "{:.1f}"),
            _format(diversity.get("distinct", [None] * 3)[1], "{:.2f}"),
            _format(diversity.get("repeated"), "{:.0%}"),
        )
    return table


def _format(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value).removesuffix("%")
