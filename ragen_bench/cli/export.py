"""`export`: writes a run, or demonstrations of the oracle, as a data set or trajectories."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated

from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError, unknown

_FORMATS = ("parquet", "atif")


@dataclass(frozen=True, kw_only=True)
class Export(Command):
    """Writes a run, or demonstrations of the oracle, for other programs.

    The format parquet has one row per episode, which datasets.load_dataset(DIR) reads; atif has
    one file per episode, in the Agent Trajectory Interchange Format.
    """

    source: Annotated[
        str, Argument("RUN|oracle", "a run directory; or the oracle, on train instances")
    ]
    out: Annotated[Path, Option("DIR", "a new or empty directory")]
    as_: Annotated[str, Option("NAME", "parquet or atif")] = "parquet"
    env: Annotated[
        tuple[str, ...],
        Option("ID", "oracle: an environment (default: core's); run: a third-party one, to import"),
    ] = ()
    limit: Annotated[
        int | None, Option("N", "oracle: instances per environment (default: 256)")
    ] = None
    format: Annotated[
        str | None, Option("NAME", "oracle: think, answer or plain (default: think)")
    ] = None

    def run(self) -> int:
        """Write the episodes and print how to read them."""
        from ragen_bench.export.episodes import play_oracle_episodes, read_run_episodes
        from ragen_bench.runs.directory import read_run
        from ragen_bench.suites import SUITES, env_id, response_format_of

        if self.as_ not in _FORMATS:
            raise unknown("--as", self.as_, _FORMATS)
        # Each format needs only its own extra.
        writer = import_module(f"ragen_bench.export.{self.as_}")
        if self.source == "oracle":
            response_format = response_format_of(self.format or "think")
            if self.limit is not None and self.limit < 1:
                raise UserError(f"--limit must be at least 1, got {self.limit}")
            envs = self.env or tuple(SUITES["core"].instances)
            instances = dict.fromkeys(map(env_id, envs), self.limit or 256)
            source = play_oracle_episodes(instances, response_format)
        else:
            for name, value in (("limit", self.limit), ("format", self.format)):
                if value is not None:
                    raise UserError(f"--{name} is for `ragen-bench export oracle` only; remove it")
            for env in self.env:
                env_id(env, opposed=None)
            source = read_run_episodes(read_run(Path(self.source)))
        count = writer.export(source, self.out)
        hint = f"; datasets.load_dataset({str(self.out)!r}) reads them"
        sys.stdout.write(
            f"{count:,} episodes in {self.out}{hint if self.as_ == 'parquet' else ''}\n"
        )
        return 0
