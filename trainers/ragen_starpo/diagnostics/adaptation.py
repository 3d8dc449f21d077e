"""What a run changes when it is warned of the echo trap: how rollouts are played and used.

RAGEN (arXiv 2504.20073) finds training steadier where rollouts are fresh and differ. So a warning
raises the temperature that they are sampled at, and lets each set of them serve one update only.
"""

from __future__ import annotations

from dataclasses import replace

from ragen_starpo.diagnostics.monitor import TrapWarning
from ragen_starpo.recipes.recipe import Recipe


class Adaptation:
    """Follows a run's warnings.

    What it says follows from the recipe and the warnings alone, in their order: a resumed run that
    takes them again is where it was.

    Args:
        recipe: of the run.

    Attributes:
        recipe: what the next iteration is played by: the run's own with what was changed.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self._acts = recipe.monitor.action == "adapt"

    def take(self, warning: TrapWarning) -> TrapWarning:
        """Change what the recipe lets a warning change, and return the warning with that in it."""
        if not self._acts:
            return warning
        before, self.recipe = self.recipe, adapted(self.recipe)
        changes = {
            name: {"from": old, "to": new}
            for (name, old), new in zip(
                _settings(before).items(), _settings(self.recipe).values(), strict=True
            )
            if old != new
        }
        said = (
            " and ".join(f"{n} is {c['to']:g} instead of {c['from']:g}" for n, c in changes.items())
            or "there is nothing left to change"
        )
        text = f"{warning.text} From iteration {warning.iteration + 1} on, {said}."
        return replace(warning, text=text, changes=changes)

    def figures(self) -> dict[str, float]:
        """Return what the next iteration is played by, where that may change in the run."""
        if not self._acts:
            return {}
        temperature, updates = self.recipe.rollouts.temperature, self.recipe.updates
        return {"rollout/temperature": temperature, "updates": updates}


def adapted(recipe: Recipe) -> Recipe:
    """Return a recipe as one more warning changes it."""
    monitor, rollouts = recipe.monitor, recipe.rollouts
    raised = min(rollouts.temperature * monitor.temperature_factor, monitor.temperature_limit)
    return replace(
        recipe,
        updates=1 if monitor.single_update else recipe.updates,
        rollouts=replace(rollouts, temperature=max(rollouts.temperature, raised)),
    )


def _settings(recipe: Recipe) -> dict[str, float]:
    return {"rollouts.temperature": recipe.rollouts.temperature, "updates": recipe.updates}
