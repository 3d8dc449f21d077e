"""`plan`: how many instances and samples a difference takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.json_output import JsonOptions
from ragen_bench.cli.options import Command
from ragen_bench.errors import UserError
from ragen_bench.options.looks import Option


@dataclass(frozen=True, kw_only=True)
class Plan(JsonOptions, Command):
    """Says how many instances and samples it takes to tell two models apart."""

    difference: Annotated[float, Option("D", "points of success, the mean over environments")] = 5.0
    suite: Annotated[str | None, Option("NAME", "a named set of environments (default: core)")] = (
        None
    )
    env: Annotated[tuple[str, ...], Option("ID", "an environment; may be repeated")] = ()
    success: Annotated[float, Option("P", "per cent, of both models, where no run tells it")] = 50.0
    like: Annotated[
        tuple[Path, ...],
        Option("RUN", "a run of such a model; a second one tells how two differ on an instance"),
    ] = ()

    def run(self) -> int:
        """Print the table, and write the figures where they are asked for."""
        from ragen_bench.console.plain import plain_console
        from ragen_bench.console.plan import print_plan
        from ragen_bench.runs.directory import read_run
        from ragen_bench.scores.plan import plan
        from ragen_bench.suites import select

        for name, value in (("difference", self.difference), ("success", self.success)):
            if not 0 < value < 100:
                raise UserError(f"--{name} is above 0 and below 100, got {value:g}")
        if len(self.like) > 2:
            raise UserError(f"--like names one or two runs, got {len(self.like)}")
        with self.output() as content:
            runs = [read_run(path) for path in self.like]
            if runs and not (self.suite or self.env):
                instances = {env.id: len(env.played) for env in runs[0].config.envs}
            else:
                instances = select(self.suite, self.env, None)
            content.update(plan(self.difference / 100, instances, self.success / 100, runs))
            if not self.printed:
                print_plan(plain_console(), content)
        return 0
