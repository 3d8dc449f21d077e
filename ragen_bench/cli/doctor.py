"""`doctor`: one line a look, before a long run."""

from __future__ import annotations

import argparse
import sys

from ragen_bench.audit.doctor import examine
from ragen_bench.cli.evaluate import evaluation_of
from ragen_bench.errors import UserError
from ragen_bench.models.registry import refuse_unknown

_SICK = 1
"""The exit code when a run would break."""


def run_doctor(arguments: argparse.Namespace) -> int:
    """Print what `ragen_bench.audit.doctor` finds; return 1 if the run would break.

    Raises:
        UserError: for anything in the command that cannot be.
    """
    if arguments.questions < 1:
        raise UserError(f"--questions is at least 1, got {arguments.questions}")
    evaluation = evaluation_of(arguments)
    refuse_unknown(evaluation.model)
    worst = 0
    for finding in examine(evaluation, arguments.questions):
        sys.stdout.write(f"{finding.status:<5} {finding.name:<9} {finding.detail}\n")
        sys.stdout.flush()
        worst |= _SICK if finding.status == "FAIL" else 0
    return worst
