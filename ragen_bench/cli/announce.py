"""`announce`: commits to a model and its settings, before instances and noise are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.options import Command
from ragen_bench.errors import UserError
from ragen_bench.options.groups import MODELS, EvaluationOptions
from ragen_bench.options.looks import Argument, Option


@dataclass(frozen=True, kw_only=True)
class Announce(EvaluationOptions, Command):
    """Commits to a model and its settings, before instances and noise are drawn.

    Writes an announcement: the model's identity, the settings and the environments, as `evaluate`
    with the same options would record them. Its hash is the commitment. The project answers it with
    a random draw, and `evaluate --split drawn --draw FILE` plays that.
    """

    model: Annotated[str, Argument("MODEL", MODELS)]
    split: Annotated[str, Option("NAME", "drawn, the only one")] = "drawn"
    out: Annotated[
        Path | None,
        Option("FILE", "(default: leaderboard/announcements/MODEL_SUITE_drawn.json)"),
    ] = None

    def run(self) -> int:
        """Write the announcement, and print the commitment and what comes next."""
        from ragen_bench.console.announcement import announce
        from ragen_bench.leaderboard import entry_name
        from ragen_bench.leaderboard.draws import ANNOUNCEMENTS
        from ragen_bench.options.evaluation import evaluation_of

        if self.split != "drawn" or self.draw is not None:
            raise UserError(
                "an announcement is for the drawn split and comes before its draw; leave --split "
                "and --draw out"
            )
        evaluation = evaluation_of(self)
        name = entry_name(self.model, evaluation.suite or "envs", "drawn")
        announce(evaluation, self.out or Path("leaderboard") / ANNOUNCEMENTS / f"{name}.json")
        return 0
