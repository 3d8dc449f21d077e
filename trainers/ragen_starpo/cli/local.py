"""`local`: trains in this process."""

from __future__ import annotations

from dataclasses import dataclass

from ragen_starpo.cli.training import TrainingCommand


@dataclass(frozen=True, kw_only=True)
class Local(TrainingCommand):
    """Trains by a recipe in one process; the same command resumes."""

    def run(self) -> int:
        """Train, and print the paths of the models."""
        from ragen_starpo.cli.models import model_folder
        from ragen_starpo.hardware import check_one_process
        from ragen_starpo.local.train import train
        from ragen_starpo.recipes.recipe import read_recipe

        recipe = read_recipe(self.recipe, self.settings)
        check_one_process(recipe.cluster)
        model = model_folder(recipe.model)
        with self.print_progress(recipe):
            train(recipe, model, self.out)
        return 0
