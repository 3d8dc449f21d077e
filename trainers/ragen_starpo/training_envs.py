"""The environments that are trained on: the suite's own, or changed as a recipe says."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.suites import EnvPool, env_id, make_env
from ragen_envs.budget import Budget
from ragen_envs.frozen_lake.rules import Slip
from ragen_envs.instances import Split
from ragen_envs.protocol import ResponseFormat
from ragen_envs.text_env import TextEnv
from ragen_starpo.recipe import Environment, Recipe


def training_pool(recipe: Recipe) -> EnvPool:
    """Return a pool of a recipe's environments.

    Raises:
        UserError: if there is no such environment, or it has not what the recipe changes.
    """
    for name in recipe.envs:
        training_env(env_id(name), "train", recipe.response_format, recipe.environment)
    return EnvPool(recipe.response_format, partial(training_env, changes=recipe.environment))


def training_env(
    env: str, split: Split, response_format: ResponseFormat, changes: Environment
) -> TextEnv[Any, Any]:
    """Return an environment of the suite with another budget or slip.

    Its train instances are those of the suite's: a variant's name decides them.

    Args:
        env: the full id.
        split: held-out ones are of the suite's own variants alone.
        response_format: of the answers.
        changes: what is different.

    Raises:
        UserError: if it has not what is changed.
    """
    made = make_env(env, split, response_format)
    if changes == Environment():
        return made
    variant = made.variant
    try:
        if changes.actions_per_turn is not None:
            variant = replace(variant, budget=_budget(variant.budget, changes.actions_per_turn))
        if changes.slip is not None:
            variant = replace(variant, slip=_slip(changes.slip))
    except (TypeError, ValueError) as error:
        raise UserError(f"{env} cannot have this [environment]: {error}") from None
    return type(made)(variant, split, response_format, made.render_mode)


def _budget(budget: Budget, actions: int) -> Budget:
    """Return a budget with so many actions a turn, and turns enough for all its actions."""
    if budget.max_turns * actions < budget.max_actions:
        budget = replace(budget, max_turns=-(-budget.max_actions // actions))
    return replace(budget, max_actions_per_turn=actions)


def _slip(odds: tuple[int, int]) -> Slip:
    if min(odds) < 0 or not any(odds):
        raise ValueError(f"slip is two odds of which one is above 0, got {list(odds)}")
    return Slip(*odds)
