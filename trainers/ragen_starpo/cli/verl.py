"""`verl`: trains in many processes, on one machine or more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated

from ragen_bench.options.looks import Option
from ragen_starpo.cli.groups import TrainingCommand


@dataclass(frozen=True, kw_only=True)
class Verl(TrainingCommand):
    """Trains by a recipe on verl and Ray, in many processes; the same command resumes."""

    ray_address: Annotated[
        str | None, Option("HOST:PORT", "of a Ray cluster to join (default: this machine)")
    ] = None

    def run(self) -> int:
        """Train, and say where the models are."""
        from ragen_starpo.cli.models import model_folder
        from ragen_starpo.cluster.train import device_of, train
        from ragen_starpo.console.following import follow
        from ragen_starpo.recipes.recipe import read_recipe

        own, overrides = split_settings(self.settings)
        recipe = read_recipe(self.recipe, own)
        device_of(recipe.cluster, self.ray_address)  # before a model may be fetched
        model = model_folder(recipe.model)
        name, status = recipe.name, "starting Ray"
        with follow(name, recipe.iterations, self.out, self.told(recipe), status):
            train(recipe, model, self.out, overrides, self.ray_address)
        return 0


def split_settings(settings: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return which settings are the recipe's, and which are verl's.

    Both have a table `critic`; the recipe's has the settings of an optimiser.
    """
    from ragen_starpo.recipes.recipe import Recipe
    from ragen_starpo.recipes.sections import OptimiserSettings

    tables = {field.name for field in fields(Recipe)}
    of_critic = {field.name for field in fields(OptimiserSettings)}
    own: list[str] = []
    of_verl: list[str] = []
    for setting in settings:
        table, _, rest = setting.partition("=")[0].partition(".")
        ours = table in tables and (table != "critic" or rest in of_critic)
        (own if ours else of_verl).append(setting)
    return own, of_verl
