"""The program `ragen-bench` and its commands."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

from ragen_bench.cli.audit import Audit
from ragen_bench.cli.compare import Compare
from ragen_bench.cli.describe import Describe, List
from ragen_bench.cli.entries import Announce, Submit, Verify
from ragen_bench.cli.evaluate import Demo, Doctor, Evaluate
from ragen_bench.cli.export import Export
from ragen_bench.cli.gateway import Gateway
from ragen_bench.cli.leaderboard import LEADERBOARD
from ragen_bench.cli.people import Annotate, Play
from ragen_bench.cli.plan import Plan
from ragen_bench.cli.reproduce import Reproduce
from ragen_bench.cli.runs import Analyse, Replay, Report, View
from ragen_bench.cli.sealed import SEALED
from ragen_bench.command_line import Commands, Parser, make_parser, run_program
from ragen_bench.visible import write_error

COMMANDS: Commands = {
    "evaluate": Evaluate,
    "doctor": Doctor,
    "list": List,
    "describe": Describe,
    "demo": Demo,
    "play": Play,
    "audit": Audit,
    "sealed": SEALED,
    "report": Report,
    "compare": Compare,
    "plan": Plan,
    "view": View,
    "replay": Replay,
    "analyse": Analyse,
    "annotate": Annotate,
    "export": Export,
    "gateway": Gateway,
    "announce": Announce,
    "submit": Submit,
    "verify": Verify,
    "reproduce": Reproduce,
    "leaderboard": LEADERBOARD,
}


def parser() -> Parser:
    """Return the parser of `ragen-bench`."""
    return make_parser("ragen-bench", "Scores models on text environments.", COMMANDS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return the exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A question mark for each character that the terminal's encoding lacks.
            stream.reconfigure(errors="replace")
    try:
        return run_program(parser(), arguments)
    except ValueError as error:
        from ragen_envs.core.held_out import MissingInstancesError
        from ragen_envs.core.sealed import SealedKeyError

        if not isinstance(error, (SealedKeyError, MissingInstancesError)):
            raise
        write_error(f"ragen-bench: {error}\n")
        return 2
