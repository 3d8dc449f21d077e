"""Between what each number of a recipe lies."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from ragen_envs.instances import HELD_OUT_SIZE

if TYPE_CHECKING:
    from ragen_starpo.recipes.recipe import Recipe

Bound: TypeAlias = tuple[str, Callable[[float], bool]]

_COUNT: Bound = ("is at least 1", lambda value: value >= 1)
_EVERY: Bound = ("is at least 0, which is never", lambda value: value >= 0)
_ABOVE: Bound = ("is above 0 and finite", lambda value: 0 < value < math.inf)
_WEIGHT: Bound = ("is at least 0 and finite", lambda value: 0 <= value < math.inf)
_SHARE: Bound = ("is from 0 to 1", lambda value: 0 <= value <= 1)
BOUNDS: dict[str, Bound] = {
    "iterations": _COUNT,
    "updates": _COUNT,
    "mini_batch": _COUNT,
    "micro_batch": _COUNT,
    "checkpoint_every": ("is at least 0", lambda value: value >= 0),
    "give_up_after": _COUNT,
    "seed": ("is at least 0 and below 2**30", lambda value: 0 <= value < 1 << 30),
    "rollouts.instances": _COUNT,
    "rollouts.samples": _COUNT,
    "rollouts.temperature": _ABOVE,
    "rollouts.max_tokens": _COUNT,
    "rollouts.context": _COUNT,
    "advantage.gamma": _SHARE,
    "advantage.lam": _SHARE,
    "advantage.gamma_turn": _SHARE,
    "filter.eps": _WEIGHT,
    "loss.clip_high": _WEIGHT,
    "loss.dual_clip": ("is above 1 and finite", lambda value: 1 < value < math.inf),
    "loss.kl": _WEIGHT,
    "loss.horizon": _COUNT,
    "loss.entropy": ("is finite", math.isfinite),
    "loss.value_clip": _ABOVE,
    "optimiser.learning_rate": _ABOVE,
    "optimiser.weight_decay": _WEIGHT,
    "critic.learning_rate": _ABOVE,
    "critic.weight_decay": _WEIGHT,
    "validation.every": _EVERY,
    # The harness begins again after the last one, and would count some twice.
    "validation.instances": (
        f"is from 1 to {HELD_OUT_SIZE}",
        lambda value: 1 <= value <= HELD_OUT_SIZE,
    ),
    "validation.temperature": _WEIGHT,
}
"""By the name of the setting: what it is, in words and as a test. None is within all of them."""


def beyond_bounds(recipe: Recipe) -> str | None:
    """Return which number of a recipe cannot be and why, None if all can."""
    settings: Any = recipe
    for name, (what, holds) in BOUNDS.items():
        value = reduce(getattr, name.split("."), settings)
        if value is not None and not holds(value):
            return f"{name}: {what}, got {value}"
    return None
