"""The environments that are trained on: the suite's own, or changed as a recipe says."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked

from ragen_bench.errors import UserError
from ragen_bench.suites import EnvPool, env_id, make_env
from ragen_envs.budget import Budget
from ragen_envs.frozen_lake.rules import Slip
from ragen_envs.instances import Split
from ragen_envs.protocol import ResponseFormat
from ragen_envs.text_env import TextEnv

if TYPE_CHECKING:
    from ragen_starpo.recipes.recipe import Recipe


@checked(frozen=True, config=ConfigDict(extra="forbid", strict=False))
class Environment:
    """What is changed in the environments that are trained on.

    Held-out success is still measured on the suite's own, which alone have a val split.

    Attributes:
        actions_per_turn: actions of one answer that are run; None for the environment's own. Where
            its turns would not do for all its actions, it gets more turns.
        slip: odds of the intended direction and of each of the two aside, of FrozenLake; None for
            the environment's own.
    """

    actions_per_turn: int | None = None
    slip: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.actions_per_turn is not None and self.actions_per_turn < 1:
            raise ValueError(f"actions_per_turn is at least 1, got {self.actions_per_turn}")
        if self.slip is not None and (min(self.slip) < 0 or not any(self.slip)):
            raise ValueError(f"slip is two odds of which one is above 0, got {list(self.slip)}")


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
            variant = replace(variant, slip=Slip(*changes.slip))
    except (TypeError, ValueError) as error:
        raise UserError(f"{env} cannot have this [environment]: {error}") from None
    return type(made)(variant, split, response_format, made.render_mode)


def _budget(budget: Budget, actions: int) -> Budget:
    turns = max(budget.max_turns, -(-budget.max_actions // actions))
    return replace(budget, max_turns=turns, max_actions_per_turn=actions)
