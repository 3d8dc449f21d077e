"""The `ragen-train` command: its subcommands by name, and those that only print."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from ragen_bench.cli.main import COMMANDS as SCORING
from ragen_bench.command_line import Argument, Command, Group, Parser, make_parser, run_program
from ragen_starpo.cli.credit import Credit
from ragen_starpo.cli.demo import Demo
from ragen_starpo.cli.models import SmallModel, WarmStart
from ragen_starpo.cli.study import StudiesCommand, StudyCommand
from ragen_starpo.cli.training import Local, Verl


@dataclass(frozen=True, kw_only=True)
class Recipes(Command):
    """Lists the recipes and the rows of the papers' tables, or prints all settings of one."""

    extra: ClassVar[str] = "train"

    recipe: Annotated[str | None, Argument("RECIPE", "such as small, or grpo@gpu")] = None
    settings: Annotated[
        tuple[str, ...], Argument("NAME=VALUE", "override a setting of the recipe, as seed=1")
    ] = ()

    def run(self) -> int:
        """Print the table of rows, or all settings of one recipe as TOML."""
        from rich.table import Table

        from ragen_bench.terminal.console import plain_console
        from ragen_starpo.recipes.files import as_toml, presets, scales, sweeps
        from ragen_starpo.recipes.recipe import read_recipe

        console = plain_console()
        if self.recipe:
            settings = read_recipe(self.recipe, self.settings, trust=True).as_json()
            console.print(as_toml(settings), end="", soft_wrap=True)
            return 0
        table = Table(box=None, pad_edge=False)
        table.add_column("rows")
        table.add_column("description", overflow="fold")
        for group in sweeps().values():
            table.add_row(" ".join(group["rows"]), group["about"])
        console.print(table)
        console.print(f"\nScales: {' '.join(scales())}. A row at a scale: filter-50@small;")
        console.print("several rows: grpo+filter-50@small. All settings: ragen-train recipes NAME")
        console.print(f"\nRecipes without rows: {' '.join(presets())}")
        return 0


@dataclass(frozen=True)
class Report(Command):
    """Draws the curves of a run, finished or not, into RUN/report.html."""

    directory: Annotated[Path, Argument("RUN", "directory of a run")]

    def run(self) -> int:
        """Write the page and print its path."""
        from ragen_bench.terminal.console import plain_console
        from ragen_starpo.report import read_training_run, write_report

        path = write_report(read_training_run(self.directory))
        plain_console().print(f"Report  {path}", soft_wrap=True)
        return 0


COMMANDS: Mapping[str, type[Command] | Group] = {
    "local": Local,
    "verl": Verl,
    "recipes": Recipes,
    "report": Report,
    "warm-start": WarmStart,
    "small-model": SmallModel,
    "demo": Demo,
    "credit": Credit,
    "study": StudyCommand,
    "studies": StudiesCommand,
}


def parser() -> Parser:
    """Return the parser of `ragen-train`."""
    made = make_parser("ragen-train", "Trains agents by StarPO and StarPO-S.", COMMANDS)
    made.others = {name: f"ragen-bench {name}" for name in SCORING if name not in COMMANDS}
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    # OpenMP reads this when torch is imported. Threads that spin while they wait are many times
    # slower on a machine that computes anything else.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    return run_program(parser(), arguments)
