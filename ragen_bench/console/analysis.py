"""`analyse`: why a run's episodes failed and how the model reasoned, in tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ragen_bench.analysis import analyse
from ragen_bench.errors import UserError, missing_extra
from ragen_bench.runs.directory import Record, RunDirectory, read_run
from ragen_bench.runs.json_lines import write_whole

try:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table
except ImportError as missing:
    raise missing_extra(missing, "bench") from missing


def run_analyse(path: Path) -> int:
    """Print the analysis of a run and write it to analysis.json.

    Raises:
        UserError: if the directory holds no run, or one without episodes.
    """
    run = read_run(path)
    console = Console(markup=False, highlight=False, emoji=False)
    analysis = _analysed(run, console)
    if not analysis["envs"]:
        raise UserError(f"{path} holds no finished episode yet", exit_code=1)
    file = path / "analysis.json"
    write_whole(file, analysis)
    console.print(failure_table(analysis))
    console.print(reasoning_table(analysis))
    for row in analysis["envs"]:
        if row["not_replayed"]:
            console.print(
                f"Left out of {_short(row['env'])}: {row['not_replayed']} whose records differ "
                f"from their replay, see `ragen-bench replay {path}`."
            )
    console.print(f"Analysis  {file}", soft_wrap=True)
    return 0


def failure_table(analysis: Record) -> Table:
    """Return the causes of failure of each environment; it fits 80 columns."""
    made = Table(title="Why episodes failed", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    made.add_column("cause")
    made.add_column("n", justify="right", no_wrap=True)
    made.add_column("%", justify="right", no_wrap=True)
    made.add_column("first example", no_wrap=True)
    made.add_column("what it means", ratio=1)
    for row in analysis["envs"]:
        failed = f"{row['failed']} of {row['episodes']} episodes failed"
        made.add_row(_short(row["env"]), "", "", "", failed, style="bold")
        for cause in row["failures"]:
            index, sample, turn = cause["examples"][0]
            made.add_row(
                f"  {cause['label']}",
                str(cause["episodes"]),
                f"{100 * cause['share']:.0f}",
                f"{index}/{sample}, turn {turn}",
                cause["about"],
            )
    return made


def reasoning_table(analysis: Record) -> Table:
    """Return the measures of reasoning of each environment; it fits 80 columns."""
    made = Table(
        title="How the model reasoned",
        caption=_CAPTION,
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    made.add_column("environment", overflow="fold")
    for name in ("turns", "words", "cut", "plan ok", "true", "unread", "zip", "dist-2", "same"):
        made.add_column(name, justify="right", no_wrap=True)
    for row in analysis["envs"]:
        made.add_row(_short(row["env"]), *_reasoning_cells(row["reasoning"]))
    return made


_CAPTION = (
    "words: mean length of a thought. cut: % of answers that reached the token limit. plan ok: "
    "answers that follow the plan in their thought, of those with a clear one. true: claims about "
    "places that are so, of those read; unread: seeming claims that were not. Over the first "
    "thoughts of all instances: zip: compression ratio; dist-2: different pairs of words; same: % "
    "that stand word for word with another instance."
)


def _reasoning_cells(found: Record) -> list[str]:
    plans, claims, diverse = found["plans"], found["claims"], found["diversity"] or {}
    same = diverse.get("repeated")
    return [
        f"{found['turns']:,}",
        _figure(found["words_mean"], "{:.1f}"),
        _figure(found["cut_share"], "{:.0%}"),
        f"{plans['agree']}/{plans['agree'] + plans['differ']}",
        f"{claims['true']}/{claims['true'] + claims['false']}",
        str(claims["unread"]),
        _figure(diverse.get("compression"), "{:.1f}"),
        _figure(diverse.get("distinct", [None] * 3)[1], "{:.2f}"),
        _figure(same, "{:.0%}"),
    ]


def _figure(value: Any, form: str) -> str:
    return "-" if value is None else form.format(value).removesuffix("%")


def _analysed(run: RunDirectory, console: Console) -> Record:
    planned = sum(env["instances"] for env in run.config["envs"]) * run.config["samples"]
    # Into a file a bar would leave an empty line.
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("Replaying", total=planned)
        return analyse(run, lambda: bar.advance(task))


def _short(env: str) -> str:
    return env.partition("/")[2]
