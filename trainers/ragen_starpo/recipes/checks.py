"""What settings cannot be together, although each has its type and its bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragen_starpo.recipes.recipe import Recipe


_WHOLE_RETURNS = ("grpo", "dr-grpo", "rloo")
"""Estimators that compare whole returns."""


def problem_of(recipe: Recipe) -> str | None:
    """Return what is wrong with settings that have the right types, None if nothing is."""
    checks = (_rollouts, _steps, _advantages, _aggregation, _thoughts, _adaptation)
    return next(filter(None, (check(recipe) for check in checks)), None)


def _rollouts(recipe: Recipe) -> str | None:
    envs, rollouts = len(recipe.envs), recipe.rollouts
    if not envs:
        return "envs: names at least one environment"
    if rollouts.instances < envs:
        return (
            f"rollouts.instances: {rollouts.instances} leave some of the {envs} environments "
            f"without any; raise it to {envs}"
        )
    if rollouts.samples < 2 and recipe.filter.strategy != "all":
        return (
            f"filter.strategy: {recipe.filter.strategy} keeps groups whose returns differ, and one "
            "rollout alone has none to differ from; set filter.strategy=all, or raise "
            "rollouts.samples"
        )
    return None


def _steps(recipe: Recipe) -> str | None:
    for name, optimiser in (("optimiser", recipe.optimiser), ("critic", recipe.critic)):
        if 0 < optimiser.decay_steps < recipe.most_steps:
            return (
                f"{name}.decay_steps: the run may take {recipe.most_steps} steps, and the rate "
                f"is 0 after {optimiser.decay_steps}"
            )
    return None


def _advantages(recipe: Recipe) -> str | None:
    name, credit = recipe.advantage.estimator, recipe.advantage.credit
    if name in _WHOLE_RETURNS and credit == "turn":
        return f"advantage.credit: {name} compares whole returns; set trajectory"
    if name == "bi-level-gae" and credit == "trajectory":
        return f"advantage.credit: {name} has each turn's reward at its end; set turn"
    return None


def _aggregation(recipe: Recipe) -> str | None:
    loss = recipe.loss
    if loss.aggregation == "seq-mean-token-sum-norm" and loss.horizon is None:
        return (
            "loss.horizon: seq-mean-token-sum-norm divides by a constant; set it, as to the most "
            "tokens that the answers of an episode may have: rollouts.max_tokens times turns"
        )
    return None


def _thoughts(recipe: Recipe) -> str | None:
    if recipe.shaping.reads_thoughts and recipe.response_format != "think":
        return (
            "shaping: plan_agreement and true_claims read thoughts, and the form "
            f"{recipe.response_format!r} has none; set response_format=think, or both to 0"
        )
    return None


def _adaptation(recipe: Recipe) -> str | None:
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
