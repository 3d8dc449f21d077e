"""The `ragen-train` command: its subcommands by name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ragen_bench.command_line import Command, Group, Parser, make_parser, run_program
from ragen_starpo.cli.demo import Demo
from ragen_starpo.cli.local import Local
from ragen_starpo.cli.recipes import Recipes
from ragen_starpo.cli.report import Report
from ragen_starpo.cli.small_model import SmallModel
from ragen_starpo.cli.study import StudiesCommand, StudyCommand
from ragen_starpo.cli.verl import Verl
from ragen_starpo.cli.warm_start import WarmStart

COMMANDS: Mapping[str, type[Command] | Group] = {
    "local": Local,
    "verl": Verl,
    "recipes": Recipes,
    "report": Report,
    "warm-start": WarmStart,
    "small-model": SmallModel,
    "demo": Demo,
    "study": StudyCommand,
    "studies": StudiesCommand,
}


def parser() -> Parser:
    """Return the parser of `ragen-train`."""
    return make_parser("ragen-train", "Trains agents by StarPO and StarPO-S.", COMMANDS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    # OpenMP reads this when torch is imported. Threads that spin while they wait are many times
    # slower on a machine that computes anything else.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    return run_program(parser(), arguments)
