"""A study in the terminal: its runs with a bar, and its verdicts."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table

from ragen_bench.console.plain import plain_console
from ragen_bench.runs.atomic import write_text
from ragen_starpo.commands import Commands, Stage
from ragen_starpo.console.progress import progress_bar
from ragen_starpo.studies.earlier import Earlier, read_earlier
from ragen_starpo.studies.jobs import Job, model_jobs, run_jobs
from ragen_starpo.studies.pages import pages
from ragen_starpo.studies.remaining import Remaining
from ragen_starpo.studies.results import Results, results, write_results
from ragen_starpo.studies.running import OnStage, claimed, models_shared, run_all, seeds_begun
from ragen_starpo.studies.study import Scale, Study
from ragen_starpo.studies.tables import verdict_rows


@dataclass(frozen=True)
class Place:
    """Where a study is run.

    Attributes:
        out: its folder.
        jobs: runs at once.
        models: where models are that several studies begin with; None for models of its own.
        ray_address: `HOST:PORT` of the Ray cluster that runs them; None for this machine.
        earlier: the `study.json` of runs that were played elsewhere.
    """

    out: Path
    jobs: int
    models: Path | None = None
    ray_address: str | None = None
    earlier: Path | None = None


def run_study(study: Study, scale: Scale, seeds: int, place: Place) -> list[str]:
    """Run what a study lacks, write its pages, and print its verdicts.

    Args:
        study: that is run.
        scale: of its recipes.
        seeds: of each arm, at least; those that the folder or the earlier runs have besides are
            judged too.
        place: where.

    Returns:
        The runs that failed.

    Raises:
        UserError: if an arm's recipe cannot be, the folder or the earlier runs are those of
            something else, or no Ray answers at the address.
    """
    console = plain_console()
    out, folder = place.out, place.out.resolve()
    earlier = read_earlier(place.earlier, study, scale) if place.earlier else None
    with _commands(place, scale) as commands, interrupted_by_sigterm(), claimed(out, study, scale):
        begun = max(seeds_begun(folder, study), earlier.seeds(study) if earlier else 0)
        if begun > seeds:
            console.print(f"{begun} seeds of some arm are there already: all are run and judged")
            seeds = begun
        models, runs = _jobs(study, scale, seeds, earlier)
        failed = _run(models, runs, place, commands, console)
        study_results = results(study, scale, seeds, folder, earlier)
    write_results(folder, study_results)
    for name, content in pages(study_results).items():
        write_text(folder / name, content)
    console.print(_table(study_results))
    console.print(f"Study  {out}/study.html, {out}/study.md, {out}/study.json", soft_wrap=True)
    return failed


@contextmanager
def _commands(place: Place, scale: Scale) -> Iterator[Commands]:
    if place.ray_address is None:
        yield Commands()
        return
    from ragen_starpo.studies.on_ray import RayCommands, joined

    with joined(place.ray_address):
        yield RayCommands(gpus=int(scale == "gpu"))


def _jobs(
    study: Study, scale: Scale, seeds: int, earlier: Earlier | None
) -> tuple[list[Job], list[Job]]:
    """Return the runs that were not played elsewhere, after the models that these need."""
    played = earlier.outcomes if earlier else {}
    runs = [job for job in run_jobs(study, scale, seeds) if job.name not in played]
    needed = {job.needs for job in runs}
    return [job for job in model_jobs(study, scale, seeds) if job.name in needed], runs


def _run(
    models: list[Job], runs: list[Job], place: Place, commands: Commands, console: Console
) -> list[str]:
    """Make the models and run all runs whose model was made; return what failed."""
    remaining = Remaining([*models, *runs], place.jobs)
    bar = progress_bar(console)

    def run(name: str, todo: list[Job]) -> dict[str, str]:
        task = bar.add_task(name, total=sum(len(job.stages) for job in todo), status="")
        on_stage = _on_stage(bar, task, remaining)
        failed = run_all(place.out.resolve(), todo, place.jobs, on_stage, commands)
        bar.update(task, status="")
        for job, why in failed.items():
            bar.console.print(f"{job}: {why}", soft_wrap=True, markup=False, highlight=False)
        return failed

    with bar:
        with models_shared(place.out.resolve(), place.models):
            without = run("models", models) if models else {}
        for job in runs:
            if job.needs in without:
                remaining.drop(job.stages)
        failed = run("runs", [job for job in runs if job.needs not in without])
    return [*without, *(job.name for job in runs if job.needs in without), *failed]


def _on_stage(bar: Progress, task: TaskID, remaining: Remaining) -> OnStage:
    """Return what moves the bar; where no terminal shows one, each job that ends has a line."""

    def on_stage(job: Job, stage: Stage, seconds: float | None) -> None:
        if seconds is None:
            bar.update(task, status=f"{job.name} {stage.name}{_left(remaining)}")
            return
        remaining.done(stage, seconds)
        bar.update(task, advance=1)
        if stage is job.stages[-1] and not bar.console.is_terminal:
            bar.console.print(f"{job.name} is done{_left(remaining)}", soft_wrap=True)

    return on_stage


def _left(remaining: Remaining) -> str:
    left = remaining.seconds()
    return "" if left is None else f", about {math.ceil(left / 60)} min left"


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


def _table(study_results: Results) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("verdict", "difference", "interval"):
        table.add_column(name, justify="left" if name == "verdict" else "right", no_wrap=True)
    table.add_column("claim", overflow="fold")
    for claim, _, verdict, difference, interval, *_ in verdict_rows(study_results):
        table.add_row(verdict, difference, interval, claim)
    return table
