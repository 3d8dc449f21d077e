"""Options that both drivers take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from ragen_bench.cli.options import Command
from ragen_bench.options.looks import Argument, Option

if TYPE_CHECKING:
    from ragen_starpo.console.following import Told
    from ragen_starpo.recipes.recipe import Recipe


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
            "trainer.logger=[file]",
        ),
    ] = ()
    out: Annotated[Path, Option("DIR", "directory of the run")]
    tensorboard: Annotated[bool, Option(None, "write event files into DIR/tensorboard")] = False
    wandb: Annotated[
        bool, Option(None, "tell Weights & Biases, or with WANDB_MODE=offline files in DIR/wandb")
    ] = False

    def told(self, recipe: Recipe) -> list[Told]:
        """Return what is told the figures of the run, as its user asks."""
        told: list[Told] = []
        if self.tensorboard:
            from ragen_starpo.diagnostics.tensorboard import EventFiles

            told.append(EventFiles(self.out / "tensorboard"))
        if self.wandb:
            from ragen_starpo.diagnostics.weights_and_biases import WandbRun

            told.append(WandbRun(self.out, recipe.name, recipe.as_json()))
        return told
