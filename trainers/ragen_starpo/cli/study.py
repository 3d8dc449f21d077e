"""`study` runs a study and judges its claims; `studies` lists them."""

from __future__ import annotations

import json
import math
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, ClassVar, get_args

from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError, unknown
from ragen_starpo.cli.training import make_progress_bar

if TYPE_CHECKING:
    from rich.console import Console

    from ragen_starpo.commands import Commands, Stage
    from ragen_starpo.studies.jobs import Job
    from ragen_starpo.studies.results import Results
    from ragen_starpo.studies.study import Scale, Study


@dataclass(frozen=True, kw_only=True)
class StudyCommand(Command):
    """Runs a study's arms and seeds, and judges its claims; the same command resumes.

    With more seeds it runs only the new ones.
    """

    extra: ClassVar[str] = "train"
    resumes: ClassVar[bool] = True

    study: Annotated[str, Argument("STUDY", "a name of ragen-train studies, or a TOML file")]
    out: Annotated[Path, Option("DIR", "the study's runs and pages")]
    seeds: Annotated[int | None, Option("N", "seeds of each arm (default: the study's)")] = None
    scale: Annotated[str, Option("NAME", "small or gpu")] = "small"
    jobs: Annotated[int, Option("N", "runs at a time, each a process of one thread")] = 1
    models: Annotated[
        Path | None,
        Option("DIR", "first models, shared by several studies (default: in --out)"),
    ] = None
    earlier: Annotated[
        Path | None,
        Option("FILE", "an earlier study.json of this study, whose finished runs count"),
    ] = None
    ray_address: Annotated[
        str | None,
        Option("HOST:PORT", "run on a Ray cluster whose machines share DIR (default: here)"),
    ] = None

    def run(self) -> int:
        """Run the missing jobs, write the pages, and print the verdicts."""
        from ragen_starpo.studies.study import Scale, read_study

        scales: dict[str, Scale] = {name: name for name in get_args(Scale)}
        if self.scale not in scales:
            raise unknown("scale", self.scale, scales)
        study = read_study(self.study)
        seeds = study.seeds if self.seeds is None else self.seeds
        if seeds < 2:
            raise UserError(f"--seeds must be at least 2 to estimate a spread, got {seeds}")
        if self.jobs < 1:
            raise UserError(f"--jobs must be at least 1, got {self.jobs}")
        return 1 if self._run_study(study, scales[self.scale], seeds) else 0

    def _run_study(self, study: Study, scale: Scale, seeds: int) -> list[str]:
        """Run the missing jobs, write the pages, print the verdicts; return the failed jobs."""
        from ragen_bench.runs.atomic import write_text
        from ragen_bench.terminal.console import plain_console
        from ragen_starpo.studies.jobs import count_seeds, lock_study, model_jobs, run_jobs
        from ragen_starpo.studies.outcomes import EarlierRuns, read_earlier_runs
        from ragen_starpo.studies.pages import make_pages
        from ragen_starpo.studies.results import make_results

        console, folder = plain_console(), self.out.resolve()
        earlier = read_earlier_runs(self.earlier, study, scale) if self.earlier else EarlierRuns()
        with (
            self._commands(scale) as commands,
            sigterm_as_interrupt(),
            lock_study(self.out, study, scale),
        ):
            present = max(count_seeds(folder, study), earlier.count_seeds(study))
            if present > seeds:
                console.print(f"{present} seeds of some arm exist already: all are run and judged")
                seeds = present
            runs = [
                job for job in run_jobs(study, scale, seeds) if job.name not in earlier.outcomes
            ]
            needed = {job.needs for job in runs}
            models = [job for job in model_jobs(study, scale, seeds) if job.name in needed]
            failed = self._run_jobs(models, runs, commands, console)
            results = make_results(study, scale, seeds, folder, earlier if self.earlier else None)
        files = {"study.json": json.dumps(results, indent=1) + "\n", **make_pages(results)}
        for name, content in files.items():
            write_text(folder / name, content)
        console.print(_verdict_table(results))
        console.print(
            f"Study  {self.out}/study.html, {self.out}/study.md, {self.out}/study.json",
            soft_wrap=True,
        )
        return failed

    @contextmanager
    def _commands(self, scale: Scale) -> Iterator[Commands]:
        if self.ray_address is None:
            from ragen_starpo.commands import Commands

            yield Commands()
            return
        from ragen_starpo.studies.on_ray import RayCommands, join_cluster

        with join_cluster(self.ray_address):
            yield RayCommands(gpus=int(scale == "gpu"))

    def _run_jobs(
        self, models: list[Job], runs: list[Job], commands: Commands, console: Console
    ) -> list[str]:
        """Make the models and run all runs whose model was made; return the failed jobs."""
        from ragen_starpo.studies.jobs import RemainingTime, lock_models, run_jobs_in_threads

        folder = self.out.resolve()
        remaining = RemainingTime([*models, *runs], self.jobs)
        bar = make_progress_bar(console)

        def run(name: str, jobs: list[Job]) -> dict[str, str]:
            task = bar.add_task(name, total=sum(len(job.stages) for job in jobs), status="")

            def on_stage(job: Job, stage: Stage, seconds: float | None) -> None:
                if seconds is not None:
                    remaining.finish(stage, seconds)
                    bar.update(task, advance=1)
                left = remaining.seconds()
                time_left = "" if left is None else f", about {math.ceil(left / 60)} min left"
                if seconds is None:
                    bar.update(task, status=f"{job.name} {stage.name}{time_left}")
                elif stage is job.stages[-1] and not bar.console.is_terminal:
                    bar.console.print(f"{job.name} is done{time_left}", soft_wrap=True)

            failed = run_jobs_in_threads(folder, jobs, self.jobs, on_stage, commands)
            bar.update(task, status="")
            for job, why in failed.items():
                bar.console.print(f"{job}: {why}", soft_wrap=True, markup=False, highlight=False)
            return failed

        with bar:
            with lock_models(folder, self.models):
                failed_models = run("models", models) if models else {}
            without_model = [job for job in runs if job.needs in failed_models]
            for job in without_model:
                remaining.drop(job.stages)
            failed_runs = run("runs", [job for job in runs if job.needs not in failed_models])
        return [*failed_models, *(job.name for job in without_model), *failed_runs]


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Let SIGTERM stop the running commands as Ctrl-C does; they would train on otherwise."""
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


def _verdict_table(results: Results) -> object:
    from rich.table import Table

    from ragen_starpo.studies.pages import make_verdict_rows

    table = Table(box=None, pad_edge=False)
    for name in ("verdict", "difference", "interval"):
        table.add_column(name, justify="left" if name == "verdict" else "right", no_wrap=True)
    table.add_column("claim", overflow="fold")
    for claim, _, verdict, difference, interval, *_ in make_verdict_rows(results):
        table.add_row(verdict, difference, interval, claim)
    return table


@dataclass(frozen=True, kw_only=True)
class StudiesCommand(Command):
    """Lists the studies of the package, or the verdicts of studies in a folder."""

    extra: ClassVar[str] = "train"

    verdicts: Annotated[
        Path | None, Option("DIR", "print the verdicts of the studies in this folder as Markdown")
    ] = None

    def run(self) -> int:
        """Print a line or a section for each study."""
        if self.verdicts is not None:
            from ragen_starpo.studies.pages import render_overview

            sys.stdout.write(render_overview(self.verdicts))
            return 0
        from rich.table import Table

        from ragen_bench.terminal.console import plain_console
        from ragen_starpo.studies.study import list_studies, read_study

        table = Table(box=None, pad_edge=False)
        table.add_column("study", no_wrap=True)
        table.add_column("runs", justify="right")
        table.add_column("question", overflow="fold")
        for name in list_studies():
            study = read_study(name)
            table.add_row(name, str(len(study.arms) * study.seeds), study.question)
        plain_console().print(table)
        return 0
