"""`study`: runs a study and judges its claims."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, get_args

from ragen_bench.cli.options import Command
from ragen_bench.options.looks import Argument, Option


@dataclass(frozen=True, kw_only=True)
class StudyCommand(Command):
    """Runs a study's arms and seeds, and says which of its claims hold; the same command goes on.

    With more seeds it plays only what is new.
    """

    extra: ClassVar[str] = "train"
    resumes: ClassVar[bool] = True

    study: Annotated[str, Argument("STUDY", "as ragen-train studies lists it, or a TOML file")]
    out: Annotated[Path, Option("DIR", "the study's runs and pages")]
    seeds: Annotated[int | None, Option("N", "of each arm (default: the study's)")] = None
    scale: Annotated[str, Option("NAME", "small or gpu")] = "small"
    jobs: Annotated[int, Option("N", "runs at once, a process of one thread each")] = 1
    models: Annotated[
        Path | None,
        Option("DIR", "the models that runs begin with, for several studies (default: in --out)"),
    ] = None
    earlier: Annotated[
        Path | None,
        Option("FILE", "a study.json of this study: its finished runs count, and are not played"),
    ] = None
    ray_address: Annotated[
        str | None,
        Option("HOST:PORT", "run on a Ray cluster, whose machines share DIR (default: here)"),
    ] = None

    def run(self) -> int:
        """Run what is missing, and print the verdicts."""
        from ragen_bench.errors import UserError, unknown
        from ragen_starpo.console.study import Place, run_study
        from ragen_starpo.studies.study import Scale, read_study

        scales: dict[str, Scale] = {name: name for name in get_args(Scale)}
        if self.scale not in scales:
            raise unknown("scale", self.scale, scales)
        study = read_study(self.study)
        seeds = study.seeds if self.seeds is None else self.seeds
        if seeds < 2:
            raise UserError(f"--seeds is at least 2, got {seeds}: one seed has no spread")
        if self.jobs < 1:
            raise UserError(f"--jobs is at least 1, got {self.jobs}")
        place = Place(self.out, self.jobs, self.models, self.ray_address, self.earlier)
        return 1 if run_study(study, scales[self.scale], seeds, place) else 0


@dataclass(frozen=True, kw_only=True)
class StudiesCommand(Command):
    """Lists the studies that come with the package, or the verdicts of those that were run."""

    extra: ClassVar[str] = "train"

    verdicts: Annotated[
        Path | None, Option("DIR", "print, as Markdown, the verdicts of the studies in this folder")
    ] = None

    def run(self) -> int:
        """Print a line for each, or a section."""
        if self.verdicts is not None:
            from ragen_starpo.studies.overview import overview

            sys.stdout.write(overview(self.verdicts))
            return 0
        self._list()
        return 0

    def _list(self) -> None:
        from rich.table import Table

        from ragen_bench.console.plain import plain_console
        from ragen_starpo.studies.study import read_study, studies

        table = Table(box=None, pad_edge=False)
        table.add_column("study", no_wrap=True)
        table.add_column("runs", justify="right")
        table.add_column("question", overflow="fold")
        for name in studies():
            study = read_study(name)
            table.add_row(name, str(len(study.arms) * study.seeds), study.question)
        plain_console().print(table)
