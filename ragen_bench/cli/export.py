"""`export`: a run, or demonstrations of the oracle, as a Parquet data set."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.options import Command
from ragen_bench.errors import UserError
from ragen_bench.options.looks import Argument, Option


@dataclass(frozen=True, kw_only=True)
class Export(Command):
    """Writes a run, or demonstrations of the oracle, as a Parquet data set.

    It has one row an episode; datasets.load_dataset(DIR) reads it.
    """

    source: Annotated[
        str, Argument("RUN|oracle", "a run directory; or the oracle, on train instances")
    ]
    out: Annotated[Path, Option("DIR", "a new or empty directory")]
    env: Annotated[
        tuple[str, ...],
        Option("ID", "oracle: an environment (default: core's); run: another package's, to import"),
    ] = ()
    limit: Annotated[int | None, Option("N", "oracle: instances of each (default: 256)")] = None
    format: Annotated[
        str | None, Option("NAME", "oracle: think, answer or plain (default: think)")
    ] = None

    def run(self) -> int:
        """Write the data set and say how to read it."""
        from ragen_bench.export import export_demonstrations, export_run
        from ragen_bench.runs.directory import read_run
        from ragen_bench.suites import env_id, response_format_of

        if self.source == "oracle":
            response_format = response_format_of(self.format or "think")
            count = export_demonstrations(self._instances(), response_format, self.out)
        else:
            self._refuse_options_of_the_oracle()
            for env in self.env:
                env_id(env, opposed=None)
            count = export_run(read_run(Path(self.source)), self.out)
        sys.stdout.write(
            f"{count:,} episodes in {self.out}; datasets.load_dataset({str(self.out)!r}) reads "
            "them\n"
        )
        return 0

    def _instances(self) -> dict[str, int]:
        from ragen_bench.suites import SUITES, env_id

        if self.limit is not None and self.limit < 1:
            raise UserError(f"--limit is at least 1, got {self.limit}")
        envs = self.env or tuple(SUITES["core"].instances)
        return dict.fromkeys(map(env_id, envs), self.limit or 256)

    def _refuse_options_of_the_oracle(self) -> None:
        options = {"limit": self.limit, "format": self.format}
        for name, value in options.items():
            if value is not None:
                raise UserError(f"--{name} is for `ragen-bench export oracle`; a run has its own")
