"""The command line's parser, a file for each group of commands."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from ragen_bench.cli.arguments import environments, leaderboard, running, runs
from ragen_bench.cli.arguments.base import Parser


def parser() -> Parser:
    """Return the parser; what it parses has a function `run` that takes it."""
    made = Parser(prog="ragen-bench", description="Scores models on text environments.")
    made.add_argument("--version", action="version", version=f"ragen-bench {_version()}")
    commands = made.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for group in (running, environments, runs, leaderboard):
        group.add(commands)
    return made


def _version() -> str:
    try:
        return version("ragen-bench")
    except PackageNotFoundError:
        return "(not installed)"
