"""The settings of an arm: which ones the laboratory reads, and their defaults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from ragen_bench.errors import UserError
from ragen_starpo.recipes.recipe import COMMAND_LINE, Recipe, read_recipe
from ragen_starpo.studies.definition import Task

_RECIPE = "small"
_DEFAULTS = (
    'advantage.estimator="grpo"',
    'filter.strategy="all"',
    "optimiser.learning_rate=1e-3",
    "critic.learning_rate=3e-3",
    "mini_batch=64",
)
"""Settings of the laboratory that differ from the recipe `small`."""
_READ = (
    *("advantage", "filter", "loss", "optimiser", "critic", "monitor", "mini_batch"),
    *("updates", "rollouts.temperature", "rollouts.refills"),
)
"""Settings and tables of a recipe that the laboratory reads."""


def read_arm(settings: Sequence[str], task: Task | None = None) -> Recipe:
    """Return the recipe of an arm, by default with the recipe's number of rollouts.

    UserError for a setting that is invalid, or does nothing in the laboratory.
    """
    names = [setting.partition("=")[0] for setting in settings]
    for name in names:
        if not any(name == one or name.startswith(f"{one}.") for one in _READ):
            raise UserError(f"the laboratory does not read {name}; it reads {', '.join(_READ)}")
    sizes = (
        [f"rollouts.instances={task.groups}", f"rollouts.samples={task.samples}"] if task else []
    )
    try:
        recipe = read_recipe(_RECIPE, [*_DEFAULTS, *sizes, *settings])
    except UserError as error:
        raise UserError(str(error).removeprefix(f"{COMMAND_LINE}: ")) from None
    for problem in _find_idle(recipe, names):
        raise UserError(problem)
    return recipe


def _find_idle(recipe: Recipe, names: Sequence[str]) -> Iterator[str]:
    """Yield a line for each setting that does nothing."""
    idle = {
        "filter.score": recipe.filter.score not in ("deviation", "variance"),
        "loss.mask_truncated": recipe.loss.mask_truncated,
        "optimiser.decay_steps": recipe.optimiser.decay_steps > 0,
        "critic.decay_steps": recipe.critic.decay_steps > 0,
        "monitor.action": recipe.monitor.action == "stop",
    }
    for name in (name for name, is_set in idle.items() if is_set):
        value = attrgetter(name)(recipe)
        yield f"{name}={value} does nothing in the laboratory; leave it out"
    if recipe.monitor.action == "none":
        for name in names:
            if name.startswith("monitor.") and name != "monitor.action":
                yield (
                    f"{name} changes nothing without monitor.action=adapt; leave it out: metrics "
                    "of warnings use the monitor's defaults"
                )
