"""The environments of training: the suite's own, or changed by a recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.suites import EnvPool, env_id, make_text_env
from ragen_envs.core.budget import Budget
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import ResponseFormat
from ragen_envs.core.text_env import TextEnv
from ragen_envs.games.frozen_lake.rules import Slip
from ragen_starpo.recipes.sections import EnvironmentSettings


def training_pool(
    envs: Sequence[str], response_format: ResponseFormat, changes: EnvironmentSettings
) -> EnvPool:
    """Return a pool of the training environments, each made once to check it.

    UserError if one is missing, or does not support a change.
    """
    for name in envs:
        training_env(env_id(name), "train", response_format, changes)
    return EnvPool(response_format, partial(training_env, changes=changes))


def training_env(
    env: str, split: Split, response_format: ResponseFormat, changes: EnvironmentSettings
) -> TextEnv[Any, Any]:
    """Return an environment of the suite with another budget or slip; UserError if it has none.

    It keeps the suite's train instances, which depend on the variant's name; held-out ones
    exist for the suite's variants alone.
    """
    made = make_text_env(env, split, response_format)
    if changes == EnvironmentSettings():
        return made
    variant = made.variant
    try:
        if changes.actions_per_turn is not None:
            variant = replace(variant, budget=_budget(variant.budget, changes.actions_per_turn))
        if changes.slip is not None:
            variant = replace(variant, slip=Slip(*changes.slip))
    except (TypeError, ValueError) as error:
        raise UserError(f"{env} cannot have this [environment]: {error}") from None
    return type(made)(variant, split, response_format, made.render_mode)


def _budget(budget: Budget, actions: int) -> Budget:
    turns = max(budget.max_turns, -(-budget.max_actions // actions))
    return replace(budget, max_turns=turns, max_actions_per_turn=actions)
