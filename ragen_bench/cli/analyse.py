"""`analyse`: why a run's episodes failed, and how the model reasoned."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ragen_bench.cli.shared_options import JsonOptions, ThirdPartyOptions
from ragen_bench.command_line import Argument, Command
from ragen_bench.errors import UserError

if TYPE_CHECKING:
    from ragen_bench.json_types import JsonObject
    from ragen_bench.terminal.tables import MetricsTable


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
    """Return the causes of failure by environment, with a line below that explains each cause."""
    from ragen_bench.pages.formats import short
    from ragen_bench.terminal.tables import MetricsTable

    causes = [cause for row in analysis["envs"] for cause in row["failures"]]
    about = dict.fromkeys(f"{cause['label']}: {cause['about']}" for cause in causes)
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
    "words: mean words per thought. cut: % of responses at the token limit. plan ok: followed "
    "plans. true: true claims, other: on another instance's board, unread: claims not parsed. "
    "Diversity of first thoughts: zip: compression ratio, dist-2: distinct bigrams, same: % equal."
)


def reasoning_table(analysis: JsonObject) -> MetricsTable:
    """Return the measures of reasoning by environment."""
    from ragen_bench.pages.formats import short
    from ragen_bench.terminal.tables import MetricsTable

    table = MetricsTable("How the model reasoned", _CAPTION, _COLUMNS)
    for row in analysis["envs"]:
        table.add_row(short(row["env"]), *_reasoning_cells(row["reasoning"]))
    return table


def _reasoning_cells(reasoning: JsonObject) -> list[str]:
    plans, claims, diversity = reasoning["plans"], reasoning["claims"], reasoning["diversity"] or {}
    return [
        f"{reasoning['turns']:,}",
        _format(reasoning["words_mean"], "{:.1f}"),
        _format(reasoning["cut_share"], "{:.0%}"),
        f"{plans['agree']}/{plans['agree'] + plans['differ']}",
        _true_of_read(claims),
        _true_of_read(claims["elsewhere"]),
        str(claims["unread"]),
        _format(diversity.get("compression"), "{:.1f}"),
        _format(diversity.get("distinct", [None] * 3)[1], "{:.2f}"),
        _format(diversity.get("repeated"), "{:.0%}"),
    ]


def _true_of_read(claims: JsonObject) -> str:
    return f"{claims['true']}/{claims['true'] + claims['false']}"


def _format(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value).removesuffix("%")
