"""`plan`: the number of instances and samples that a comparison needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ragen_bench.cli.shared_options import JsonOptions
from ragen_bench.command_line import Command, Option
from ragen_bench.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from ragen_bench.json_types import JsonObject

_SIDES = ("unpaired", "paired")
_ASSUMED = {
    "success": "a success of {:g} %",
    "share": "{:g} % of its variance between instances",
    "correlation": "a correlation of {:g} % between models over instances",
}
"""The values that no run gave, in words."""
_HEADING = """\
           instances of each          found with those
          environment needed             there are
 samples    other      same          other      same
 ────────────────────────────────────────────────────"""
_PLAN_CAPTION = """\
other: each model plays other instances; same: both play the same ones, which
`ragen-bench compare` pairs. found: the smallest difference that is detected with
80 % power, in points of success."""


@dataclass(frozen=True, kw_only=True)
class Plan(JsonOptions, Command):
    """Computes how many instances and samples it takes to tell two models apart."""

    difference: Annotated[float, Option("D", "points of success, the mean over environments")] = 5.0
    suite: Annotated[str | None, Option("NAME", "a named set of environments (default: core)")] = (
        None
    )
    env: Annotated[tuple[str, ...], Option("ID", "an environment; may be repeated")] = ()
    success: Annotated[float, Option("P", "success of both models in per cent, without a run")] = (
        50.0
    )
    like: Annotated[
        tuple[Path, ...],
        Option("RUN", "a run of a similar model; a second run gives the paired difference"),
    ] = ()

    def run(self) -> int:
        """Print the table, or write it as JSON."""
        from ragen_bench.runs.directory import read_run
        from ragen_bench.scores.plan import plan_comparison
        from ragen_bench.suites import select
        from ragen_bench.terminal.console import plain_console

        for name, value in (("difference", self.difference), ("success", self.success)):
            if not 0 < value < 100:
                raise UserError(f"--{name} must be above 0 and below 100, got {value:g}")
        if len(self.like) > 2:
            raise UserError(f"--like takes one or two runs, got {len(self.like)}")
        with self.output() as content:
            runs = [read_run(path) for path in self.like]
            if runs and not (self.suite or self.env):
                instances = {env.id: len(env.played) for env in runs[0].config.envs}
            else:
                instances = select(self.suite, self.env, None)
            content.update(
                plan_comparison(self.difference / 100, instances, self.success / 100, runs)
            )
            if not self.prints_json:
                _print_plan(plain_console(), content)
        return 0


def _print_plan(console: Console, planned: JsonObject) -> None:
    from ragen_bench.pages.formats import short
    from ragen_bench.terminal.console import fixed

    points = f"{100 * planned['difference']:g}"
    console.print(f"To detect a difference of {points} points of success with 80 % power in")
    for env, count in planned["envs"].items():
        console.print(f"  {short(env)}, {count:,} instances", soft_wrap=True)
    console.print(f"\n{_HEADING}", highlight=False)
    for row in planned["rows"]:
        needed = "".join(f"{row['instances'][side]:>10,}" for side in _SIDES)
        found = "".join(f"{fixed(100 * row['find'][side], 1):>10}" for side in _SIDES)
        console.print(f" {row['samples']:>7}{needed}    {found}", highlight=False)
    console.print(f"\n{_PLAN_CAPTION}")
    if assumed := planned["assumed"]:
        parts = (_ASSUMED[name].format(100 * value) for name, value in assumed.items())
        console.print(f"Assumed: {', '.join(parts)}; name runs with --like to measure them.")
