"""`verl`: trains in many processes, on one machine or more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated

from ragen_bench.command_line import Option
from ragen_starpo.cli.training import TrainingCommand


@dataclass(frozen=True, kw_only=True)
class Verl(TrainingCommand):
    """Trains by a recipe on verl and Ray, in many processes; the same command resumes."""

    ray_address: Annotated[
        str | None, Option("HOST:PORT", "Ray cluster to join (default: this machine only)")
    ] = None

    def run(self) -> int:
        """Train, and print the paths of the models."""
        from ragen_starpo.cli.models import model_folder
        from ragen_starpo.cluster.train import device_of, train
        from ragen_starpo.recipes.recipe import read_recipe

        settings, overrides = split_settings(self.settings)
        recipe = read_recipe(self.recipe, settings)
        device_of(recipe.cluster, self.ray_address)  # before a model is downloaded
        model = model_folder(recipe.model)
        with self.print_progress(recipe, status="starting Ray"):
            train(recipe, model, self.out, overrides, self.ray_address)
        return 0


def split_settings(settings: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the settings of the recipe, and those of verl.

    Both have a table `critic`; the recipe's has the settings of an optimiser.
    """
    from ragen_starpo.recipes.recipe import Recipe
    from ragen_starpo.recipes.sections import OptimiserSettings

    tables = {field.name for field in fields(Recipe)}
    critic = {field.name for field in fields(OptimiserSettings)}
    recipe: list[str] = []
    verl: list[str] = []
    for setting in settings:
        table, _, rest = setting.partition("=")[0].partition(".")
        is_recipe = table in tables and (table != "critic" or rest in critic)
        (recipe if is_recipe else verl).append(setting)
    return recipe, verl
