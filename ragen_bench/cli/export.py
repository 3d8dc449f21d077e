"""`export`: a run, or demonstrations of the oracle, as a Parquet data set."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ragen_bench.cli.evaluate import response_format_of
from ragen_bench.errors import UserError
from ragen_bench.export import export_demonstrations, export_run
from ragen_bench.runs.directory import read_run
from ragen_bench.suites import SUITES, env_id


def run_export(arguments: argparse.Namespace) -> int:
    """Write the data set and say how to read it.

    Raises:
        UserError: for anything in the command that cannot be.
    """
    directory: Path = arguments.out
    if arguments.source == "oracle":
        response_format = response_format_of(arguments.format or "think")
        written = export_demonstrations(_instances(arguments), response_format, directory)
    else:
        _refuse_options_of_the_oracle(arguments)
        written = export_run(read_run(Path(arguments.source)), directory)
    sys.stdout.write(
        f"{written:,} episodes in {directory}; "
        f"datasets.load_dataset({str(directory)!r}) reads them\n"
    )
    return 0


def _instances(arguments: argparse.Namespace) -> dict[str, int]:
    if arguments.limit is not None and arguments.limit < 1:
        raise UserError(f"--limit is at least 1, got {arguments.limit}")
    envs = arguments.env or list(SUITES["core"].instances)
    return dict.fromkeys(map(env_id, envs), arguments.limit or 256)


def _refuse_options_of_the_oracle(arguments: argparse.Namespace) -> None:
    for option in ("env", "limit", "format"):
        if getattr(arguments, option) is not None:
            raise UserError(f"--{option} is for `ragen-bench export oracle`; a run has its own")
