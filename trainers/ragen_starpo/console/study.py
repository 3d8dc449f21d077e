"""A study in the terminal: its runs with a bar, and its verdicts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from rich.progress import Progress
from rich.table import Table

from ragen_bench.console.plain import plain_console
from ragen_bench.runs.atomic import write_text
from ragen_starpo.commands import Stage
from ragen_starpo.console.progress import progress_bar
from ragen_starpo.studies.jobs import Job, model_jobs, run_jobs
from ragen_starpo.studies.pages import html_page, markdown_page
from ragen_starpo.studies.results import Results, results, write_results
from ragen_starpo.studies.running import claimed, run_all
from ragen_starpo.studies.study import Scale, Study
from ragen_starpo.studies.tables import verdict_rows


def run_study(study: Study, scale: Scale, seeds: int, jobs: int, out: Path) -> list[str]:
    """Run what a study lacks, write its pages, and print its verdicts.

    Args:
        study: that is run.
        scale: of its recipes.
        seeds: of each arm.
        jobs: processes at once.
        out: folder of the study.

    Returns:
        The runs that failed.

    Raises:
        UserError: if an arm's recipe cannot be, or the folder is that of something else.
    """
    models, runs = model_jobs(study, scale, seeds), run_jobs(study, scale, seeds)
    with claimed(out, study, scale), interrupted_by_sigterm():
        return _run(study, scale, seeds, out, {"models": models, "runs": runs}, jobs)


def _run(
    study: Study, scale: Scale, seeds: int, out: Path, todo: dict[str, list[Job]], jobs: int
) -> list[str]:
    folder = out.resolve()
    console = plain_console()
    bar = progress_bar(console)
    failed: list[str] = []
    with bar:
        for name, some in todo.items():
            if some:
                failed += _run_all(folder, name, some, jobs, bar)
    study_results = results(study, scale, seeds, folder)
    write_results(folder, study_results)
    write_text(folder / "study.html", html_page(study_results))
    write_text(folder / "study.md", markdown_page(study_results))
    console.print(_table(study_results))
    console.print(f"Study  {out}/study.html, {out}/study.md, {out}/study.json", soft_wrap=True)
    return failed


@contextmanager
def interrupted_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the commands under way as Ctrl-C does: they would train on otherwise."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - signal's names
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run_all(folder: Path, name: str, todo: list[Job], jobs: int, bar: Progress) -> list[str]:
    task = bar.add_task(name, total=sum(len(job.stages) for job in todo), status="")

    def on_stage(job: Job, stage: Stage, seconds: float | None) -> None:
        if seconds is None:
            bar.update(task, status=f"{job.name} {stage.name}")
        else:
            bar.update(task, advance=1)

    failed = run_all(folder, todo, jobs, on_stage)
    bar.update(task, status="")
    for job, why in failed.items():
        bar.console.print(f"{job}: {why}", soft_wrap=True, markup=False, highlight=False)
    return list(failed)


def _table(study_results: Results) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("verdict", "difference", "interval"):
        table.add_column(name, justify="left" if name == "verdict" else "right", no_wrap=True)
    table.add_column("claim", overflow="fold")
    for claim, _, verdict, difference, interval, *_ in verdict_rows(study_results):
        table.add_row(verdict, difference, interval, claim)
    return table
