"""`study` runs studies on stacked seeds and judges their claims; `studies` lists them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from ragen_starpo.studies.definition import Study
    from ragen_starpo.studies.store import Progress
    from ragen_starpo.studies.verdicts import Judgement

_ALL = "all"
_DEVICES = ("cpu", "cuda")


@dataclass(frozen=True, kw_only=True)
class StudyCommand(Command):
    """Runs studies on many seeds at once, and judges their claims; the same command resumes.

    Each arm and look is stored when it is done, and shared by the studies of a folder.
    """

    extra: ClassVar[str] = "train"
    resumes: ClassVar[bool] = True

    studies: Annotated[
        tuple[str, ...], Argument("STUDY", "names of ragen-train studies, TOML files, or all")
    ]
    out: Annotated[Path, Option("DIR", "the runs, which several studies share")]
    looks: Annotated[int | None, Option("N", "looks at most (default: until all is decided)")] = (
        None
    )
    device: Annotated[str, Option("NAME", "cpu or cuda")] = "cpu"
    pages: Annotated[
        Path | None, Option("DIR", "where findings.md and its pictures go (default: --out)")
    ] = None

    def run(self) -> int:
        """Run what is missing, write the pages, and print the verdicts."""
        from ragen_bench.terminal.console import plain_console
        from ragen_starpo.studies.definition import list_studies, read_study
        from ragen_starpo.studies.pages import write_pages
        from ragen_starpo.studies.store import load_finding, open_store

        if self.device not in _DEVICES:
            raise unknown("device", self.device, _DEVICES)
        if self.looks is not None and self.looks < 1:
            raise UserError(f"--looks must be at least 1, got {self.looks}")
        names = list_studies() if self.studies == (_ALL,) else self.studies
        studies = [read_study(name) for name in dict.fromkeys(names)]
        _check_gpu(studies, self.device)
        console, findings = plain_console(), []
        with open_store(self.out, studies):
            for study in studies:
                judgement = self._run_study(study, console)
                findings.append(load_finding(self.out, study, judgement))
                console.print(_verdict_table(study, judgement))
            write_pages(self.pages or self.out, findings)
        console.print(f"Findings  {self.pages or self.out}/findings.md", soft_wrap=True)
        return 0

    def _run_study(self, study: Study, console: Console) -> Judgement:
        from ragen_bench.visible import format_duration
        from ragen_starpo.cli.training import make_progress_bar
        from ragen_starpo.laboratory.run import run_arm
        from ragen_starpo.studies.store import run_study

        bar = make_progress_bar(console)
        task = bar.add_task(study.name, total=None, status="")

        def show(progress: Progress) -> None:
            pace = f"{progress.rate:.1f} seed-iterations a second"
            if progress.left:
                pace += f", {format_duration(progress.left)} left of this look"
            status = f"{progress.arm}, {pace}"
            bar.update(task, completed=progress.done, total=progress.total, status=status)
            if progress.finished and not console.is_terminal:
                line = f"{study.name}: {progress.runs} runs of {progress.arm} are done, {pace}"
                console.print(line, soft_wrap=True)

        self._check_device(study)
        with bar:
            play = partial(run_arm, cache=self.out / "warm")
            return run_study(study, self.out, play, self.device, show, self.looks)

    def _check_device(self, study: Study) -> None:
        """Raise UserError if runs are missing, and an arm has some of another kind of device.

        Arms are compared by warm start, and warm starts of a CPU and a GPU differ.
        """
        from ragen_starpo.studies.store import load_runs
        from ragen_starpo.studies.verdicts import judge

        load = partial(load_runs, self.out, study)
        if not judge(study, load, self.looks).missing:
            return
        for arm in study.arms:
            runs = load(arm, study.looks[0])
            if runs and not (runs.seconds if self.device == "cpu" else runs.gpu_seconds):
                other = "cuda" if self.device == "cpu" else "cpu"
                raise UserError(
                    f"{study.name}: {self.out} has runs of {arm} by --device {other}; go on with "
                    "that device, or choose another --out"
                )


def _check_gpu(studies: Sequence[Study], device: str) -> None:
    """Raise UserError if there is no such device, or it lacks memory."""
    import torch

    from ragen_starpo.studies.store import needed_memory

    if device == "cpu":
        return
    if not torch.cuda.is_available():
        raise UserError("--device cuda: torch finds no GPU; leave --device out to use the CPU")
    free = torch.cuda.mem_get_info()[0]
    for study in studies:
        if (needed := needed_memory(study)) > free:
            raise UserError(
                f"{study.name} may need {needed / 2**30:.1f} GiB of GPU memory, and "
                f"{free / 2**30:.1f} GiB are free; leave --device out to use the CPU"
            )


def _verdict_table(study: Study, judgement: Judgement) -> object:
    from rich.table import Table

    table = Table(title=study.name, title_justify="left", box=None, pad_edge=False)
    for name in ("verdict", "difference", "interval"):
        table.add_column(name, justify="left" if name == "verdict" else "right", no_wrap=True)
    table.add_column("claim", overflow="fold")
    for claim, verdict in zip(study.claims, judgement.verdicts, strict=True):
        estimate, ends = verdict.estimate, ("", "")
        if estimate:
            low, high = estimate.interval(verdict.level)
            ends = f"{estimate.mean:.1f}", f"{low:.1f} to {high:.1f}"
        why = f" ({verdict.why})" if verdict.why else ""
        table.add_row(verdict.word, *ends, f"{claim.text}{why}")
    return table


@dataclass(frozen=True, kw_only=True)
class StudiesCommand(Command):
    """Lists the studies of the package."""

    extra: ClassVar[str] = "train"

    def run(self) -> int:
        """Print a line for each study."""
        from rich.table import Table

        from ragen_bench.terminal.console import plain_console
        from ragen_starpo.studies.definition import list_studies, read_study

        table = Table(box=None, pad_edge=False)
        table.add_column("study", no_wrap=True)
        table.add_column("arms", justify="right")
        table.add_column("claims", justify="right")
        table.add_column("question", overflow="fold")
        for name in list_studies():
            study = read_study(name)
            table.add_row(name, str(len(study.arms)), str(len(study.claims)), study.question)
        plain_console().print(table)
        return 0
