"""`doctor`: checks of a model before a long run, one line for each finding."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

from ragen_bench.cli.shared_options import JsonOptions
from ragen_bench.command_line import Command, Option
from ragen_bench.errors import UserError
from ragen_bench.settings.options import EvaluationOptions
from ragen_bench.visible import visible


@dataclass(frozen=True, kw_only=True)
class Doctor(JsonOptions, EvaluationOptions, Command):
    """Checks a model before a long run.

    Takes the options of `evaluate`. Checks whether the oracle reaches its optimal score, and
    whether the model is there, responds, keeps the format, stops, respects its token limit and
    repeats itself. Ends with exit code 1 if the run would break.
    """

    questions: Annotated[int, Option("N", "number of first turns to play")] = 8

    def run(self) -> int:
        """Print the findings as they come; return 1 if the run would break."""
        from ragen_bench.audit.doctor import examine
        from ragen_bench.settings.build import build_evaluation

        if self.questions < 1:
            raise UserError(f"--questions must be at least 1, got {self.questions}")
        evaluation = build_evaluation(self)
        if evaluation.split == "drawn":
            raise UserError("doctor plays instances of val or test; remove --split and --draw")
        with self.output() as content:
            content["findings"] = []
            for finding in examine(evaluation, self.questions):
                detail = visible(finding.detail)
                sys.stdout.write(f"{finding.status:<5} {finding.name:<9} {detail}\n")
                sys.stdout.flush()
                content["findings"].append(finding._asdict())
            content["failed"] = any(each["status"] == "FAIL" for each in content["findings"])
        return 1 if content["failed"] else 0
