"""`audit`: the suite's guarantees counted, or the kit run on a third party's environment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.json_output import JsonOptions
from ragen_bench.cli.options import Command
from ragen_bench.errors import UserError
from ragen_bench.options.looks import Argument, Option


@dataclass(frozen=True, kw_only=True)
class Audit(JsonOptions, Command):
    """Proves the suite's guarantees on this machine, or checks another environment.

    Generates, solves and compares instances of the suite's environments and runs the testing kit
    on them; on another environment it runs the kit. With --certificate it answers OpenEnv's
    questions of one environment. Ends with exit code 1 if a guarantee does not hold.
    """

    env: Annotated[
        tuple[str, ...],
        Argument(
            "ENV",
            "ids of the suite (default: all), other ids such as my_pkg:my/Env-v0, or "
            "python:MODULE:ATTRIBUTE, a ragen_envs.testing.Subject or what makes an environment",
        ),
    ] = ()
    levels: Annotated[int, Option("N", "train instances")] = 1000
    sealed: Annotated[bool, Option(None, "look at the sealed split too; its key is needed")] = False
    out: Annotated[Path | None, Option("FILE", "write everything that was counted as JSON")] = None

    certificate: Annotated[
        Path | None, Option("FILE", "answer OpenEnv's questions of one ENV, and write them as JSON")
    ] = None
    question: Annotated[
        str | None, Option("ID", "answer one of them alone, such as semantic.floor_gap")
    ] = None
    episodes: Annotated[int, Option("N", "episodes of each scripted player who answers")] = 10_000

    def run(self) -> int:
        """Audit the environments; return 0 if every guarantee holds, else 1."""
        if self.levels < 1:
            raise UserError(f"--levels is at least 1, got {self.levels}")
        if self.episodes < 1:
            raise UserError(f"--episodes is at least 1, got {self.episodes}")
        if self.certificate or self.question:
            return self._certify()
        if self.out and not self.out.parent.is_dir():
            raise UserError(f"--out {self.out}: there is no directory {self.out.parent}")
        from ragen_bench.console.audit import audit

        with self.output() as content:
            return 0 if audit(self.env, self.levels, self.sealed, self.out, content) else 1

    def _certify(self) -> int:
        """Answer the questions; return 0 if no answer is "failed", else 1."""
        if len(self.env) != 1:
            raise UserError(f"a certificate is of one environment, got {len(self.env)} ENV")
        if self.sealed or self.out:
            raise UserError("--sealed and --out do not go with --certificate and --question")
        if self.certificate and not self.certificate.parent.is_dir():
            raise UserError(
                f"--certificate {self.certificate}: there is no directory {self.certificate.parent}"
            )
        from ragen_bench.console.certificate import certificate

        wanted = self.certificate, self.question
        with self.output() as content:
            holds = certificate(self.env[0], self.episodes, self.levels, *wanted, content)
        return 0 if holds else 1
