"""`export`: runs, demonstrations and tasks for other programs."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated

from ragen_bench.cli.shared_options import JsonOptions
from ragen_bench.command_line import Argument, Command, Option
from ragen_bench.errors import UserError, unknown
from ragen_bench.visible import write_out

_FORMATS = ("parquet", "atif", "harbor")
_OF_HARBOR = ("instances", "first_seed", "rollouts", "split", "requirement")


@dataclass(frozen=True, kw_only=True)
class Export(JsonOptions, Command):
    """Writes a run, demonstrations of the oracle, or tasks, for other programs.

    The format parquet has one row per episode, which datasets.load_dataset(DIR) reads; atif has
    one file per episode, in the Agent Trajectory Interchange Format. The format harbor has one task
    of Harbor per instance of one environment, and takes no RUN.
    """

    source: Annotated[
        str | None, Argument("RUN|oracle", "a run directory; or the oracle, on train instances")
    ] = None
    out: Annotated[Path, Option("DIR", "a new or empty directory")]
    as_: Annotated[str, Option("NAME", "parquet, atif or harbor")] = "parquet"
    env: Annotated[
        tuple[str, ...],
        Option(
            "ID",
            "oracle: an environment (default: core's); run: a third-party one, to import; "
            "harbor: the environment of the tasks",
        ),
    ] = ()
    limit: Annotated[
        int | None, Option("N", "oracle: instances per environment (default: 256)")
    ] = None
    format: Annotated[
        str | None,
        Option("NAME", "oracle, harbor: think, answer or plain (default: think; of harbor, plain)"),
    ] = None
    instances: Annotated[int | None, Option("N", "harbor: instances (default: 64)")] = None
    first_seed: Annotated[int | None, Option("N", "harbor: the first instance (default: 0)")] = None
    rollouts: Annotated[
        int | None, Option("N", "harbor: noise seeds per instance, a task each (default: 1)")
    ] = None
    split: Annotated[str | None, Option("NAME", "harbor: train, val or test (default: train)")] = (
        None
    )
    requirement: Annotated[
        tuple[str, ...],
        Option(
            "REQ",
            "harbor: an extra package of the images; one that begins with ragen-bench replaces "
            "the release",
        ),
    ] = ()

    def run(self) -> int:
        """Write the episodes or tasks and print how to read them."""
        if self.as_ not in _FORMATS:
            raise unknown("--as", self.as_, _FORMATS)
        with self.output() as content:
            count, noun, hint = self._export()
            content.update({noun: count, "out": str(self.out), "as": self.as_})
            write_out(f"{count:,} {noun} in {self.out}{hint}\n")
        return 0

    def _export(self) -> tuple[int, str, str]:
        """Return the number of the things written, their name, and how they are read."""
        if self.as_ == "harbor":
            self._refuse(("limit",), "`ragen-bench export oracle`")
            return self._export_tasks(), "tasks", f"; harbor run -p {self.out} plays them"
        self._refuse(_OF_HARBOR, "`--as harbor`")
        hint = f"; datasets.load_dataset({str(self.out)!r}) reads them"
        return self._export_episodes(), "episodes", hint if self.as_ == "parquet" else ""

    def _export_tasks(self) -> int:
        from ragen_bench.suites import env_id, find_choice, response_format_of
        from ragen_envs.core.instances import SPLITS
        from ragen_envs.integrations.bridging import tasks
        from ragen_envs.integrations.harbor.task_folders import write_task_folders

        if self.source is not None:
            raise UserError("--as harbor writes tasks of an environment; remove RUN or oracle")
        if len(self.env) != 1:
            raise UserError("--as harbor writes the tasks of one environment; add --env ID")
        try:
            wanted = tasks(
                env_id(self.env[0]),
                64 if self.instances is None else self.instances,
                1 if self.rollouts is None else self.rollouts,
                split=find_choice("split", self.split or "train", SPLITS),
                response_format=response_format_of(self.format or "plain"),
                first_seed=self.first_seed or 0,
            )
            return write_task_folders(self.out, list(wanted), self.requirement)
        except ValueError as error:
            raise UserError(str(error)) from error

    def _export_episodes(self) -> int:
        from ragen_bench.export.episodes import play_oracle_episodes, read_run_episodes
        from ragen_bench.runs.directory import read_run
        from ragen_bench.suites import SUITES, env_id, response_format_of

        if self.source is None:
            raise UserError("add a run directory, or oracle, whose episodes to export")
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
            self._refuse(("limit", "format"), "`ragen-bench export oracle`")
            for env in self.env:
                env_id(env, opposed=None)
            source = read_run_episodes(read_run(Path(self.source)))
        count: int = writer.export(source, self.out)
        return count

    def _refuse(self, options: tuple[str, ...], place: str) -> None:
        """Raise a UserError if one of some options was given, which belong to another place."""
        for name in options:
            if getattr(self, name) not in (None, ()):
                option = name.replace("_", "-")
                raise UserError(f"--{option} is for {place} only; remove it")
