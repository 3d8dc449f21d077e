"""Options that both drivers take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from ragen_bench.cli.options import Command
from ragen_bench.options.looks import Argument, Option


@dataclass(frozen=True, kw_only=True)
class TrainingCommand(Command):
    """A command that trains by a recipe."""

    extra: ClassVar[str] = "train"
    resumes: ClassVar[bool] = True

    recipe: Annotated[Path, Argument("RECIPE", "a TOML file or a listed recipe")]
    settings: Annotated[
        tuple[str, ...],
        Argument(
            "NAME=VALUE",
            "in place of the recipe's, as seed=1; verl also takes its own, as "
            "trainer.logger=[wandb]",
        ),
    ] = ()
    out: Annotated[Path, Option("DIR", "directory of the run")]
    tensorboard: Annotated[bool, Option(None, "write event files into DIR/tensorboard")] = False
