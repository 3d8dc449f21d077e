"""Reads the command line of `ragen-train` and calls one function for it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ragen_bench.cli.arguments.base import Parser
from ragen_bench.errors import INTERRUPTED, UserError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit code."""
    try:
        given = _parser().parse_args(arguments)
        return int(given.run(given))
    except UserError as error:
        sys.stderr.write(f"ragen-train: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        said = "interrupted; the same command goes on from the latest checkpoint"
        sys.stderr.write(f"\nragen-train: {said}\n")
        return INTERRUPTED


def _parser() -> Parser:
    parser = Parser(prog="ragen-train", description="Trains agents by StarPO and StarPO-S.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    local = commands.add_parser(
        "local",
        help="train in this process",
        description="Trains by a recipe in one process; the same command resumes.",
    )
    local.add_argument("recipe", type=Path, metavar="RECIPE", help="a TOML file")
    local.add_argument(
        "settings", nargs="*", metavar="NAME=VALUE", help="in place of the recipe's, as seed=1"
    )
    local.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="directory of the run"
    )
    local.set_defaults(run=_local)
    return parser


def _local(given: argparse.Namespace) -> int:
    # Loaded when it is called: torch and verl take seconds.
    from ragen_starpo.cli.local import run_local

    return run_local(given.recipe, given.settings, given.out)
