"""`doctor`: a look at a model before a long run, one line for each finding."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated

from ragen_bench.cli.json_output import JsonOptions
from ragen_bench.cli.options import Command
from ragen_bench.errors import UserError
from ragen_bench.options.groups import EvaluationOptions
from ragen_bench.options.looks import Option
from ragen_bench.visible import visible


@dataclass(frozen=True, kw_only=True)
class Doctor(JsonOptions, EvaluationOptions, Command):
    """Looks at a model before a long run.

    Checks what `evaluate` with the same options would use: whether the oracle reaches its ceiling,
    and whether the model is there, answers, keeps the form, stops, respects its token limit and
    repeats itself. Ends with exit code 1 if the run would break.
    """

    questions: Annotated[int, Option("N", "first turns to ask")] = 8

    def run(self) -> int:
        """Print the findings as they come; return 1 if the run would break."""
        from ragen_bench.audit.doctor import examine
        from ragen_bench.options.evaluation import evaluation_of

        if self.questions < 1:
            raise UserError(f"--questions is at least 1, got {self.questions}")
        evaluation = evaluation_of(self)
        if evaluation.split == "drawn":
            raise UserError("doctor asks on instances of val or test; leave --split and --draw out")
        with self.output() as content:
            content["findings"] = []
            for finding in examine(evaluation, self.questions):
                detail = visible(finding.detail)
                sys.stdout.write(f"{finding.status:<5} {finding.name:<9} {detail}\n")
                sys.stdout.flush()
                content["findings"].append(finding._asdict())
            content["failed"] = any(look["status"] == "FAIL" for look in content["findings"])
        return 1 if content["failed"] else 0
