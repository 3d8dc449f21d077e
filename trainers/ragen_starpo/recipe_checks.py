"""What settings cannot be together, although each has its type and its bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragen_starpo.recipe import Recipe


def problem_of(recipe: Recipe) -> str | None:
    """Return what is wrong with settings that have the right types, None if nothing is."""
    for name, optimiser in (("optimiser", recipe.optimiser), ("critic", recipe.critic)):
        if 0 < optimiser.decay_steps < recipe.most_steps:
            return (
                f"{name}.decay_steps: the run may take {recipe.most_steps} steps, and the rate "
                f"is 0 after {optimiser.decay_steps}"
            )
    if not recipe.envs:
        return "envs: names at least one environment"
    if recipe.advantage.credit == "turn" and recipe.advantage.estimator in (
        "grpo",
        "dr-grpo",
        "rloo",
    ):
        return (
            f"advantage.credit: {recipe.advantage.estimator} compares whole returns; set trajectory"
        )
    if recipe.shaping.reads_thoughts and recipe.response_format != "think":
        return (
            "shaping: plan_agreement and true_claims read thoughts, and the form "
            f"{recipe.response_format!r} has none; set response_format=think, or both to 0"
        )
    if recipe.monitor.action == "adapt" and not _has_room(recipe):
        return (
            "monitor.action: adapt has nothing to change; raise monitor.temperature_limit above "
            "rollouts.temperature, or updates above 1"
        )
    return None


def _has_room(recipe: Recipe) -> bool:
    """Tell whether a warning could change how the recipe's rollouts are played or used."""
    monitor = recipe.monitor
    hotter = (
        monitor.temperature_factor > 1 and monitor.temperature_limit > recipe.rollouts.temperature
    )
    return hotter or (monitor.single_update and recipe.updates > 1)
