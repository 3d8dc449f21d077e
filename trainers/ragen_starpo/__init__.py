"""StarPO, on one device or on verl's cluster.

`read_recipe` reads the settings of a run, and `train` runs it in one process. `estimator`, `loss`
and `filter` register algorithms that recipes name. The built-in estimators and losses are functions
of tensors.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragen_starpo.algorithms.advantages import (
        bi_level_gae,
        hybrid,
        reinforce_plus_plus,
        token_gae,
    )
    from ragen_starpo.algorithms.covariance_losses import clip_cov_loss, kl_cov_loss
    from ragen_starpo.algorithms.group_advantages import (
        dr_grpo,
        gigpo,
        grpo,
        reinforce_plus_plus_baseline,
        rloo,
        turn_grpo,
    )
    from ragen_starpo.algorithms.losses import (
        cispo_loss,
        gspo_loss,
        kl_penalty,
        ppo_loss,
        value_loss,
    )
    from ragen_starpo.algorithms.registry import estimator, filter, loss
    from ragen_starpo.local.train import train
    from ragen_starpo.recipes.recipe import Recipe, read_recipe

_MODULES = {
    "algorithms.advantages": ("bi_level_gae", "hybrid", "reinforce_plus_plus", "token_gae"),
    "algorithms.group_advantages": (
        *("dr_grpo", "gigpo", "grpo"),
        *("reinforce_plus_plus_baseline", "rloo", "turn_grpo"),
    ),
    "algorithms.covariance_losses": ("clip_cov_loss", "kl_cov_loss"),
    "algorithms.losses": ("cispo_loss", "gspo_loss", "kl_penalty", "ppo_loss", "value_loss"),
    "algorithms.registry": ("estimator", "filter", "loss"),
    "local.train": ("train",),
    "recipes.recipe": ("Recipe", "read_recipe"),
}

__all__ = [
    "Recipe",
    "bi_level_gae",
    "cispo_loss",
    "clip_cov_loss",
    "dr_grpo",
    "estimator",
    "filter",
    "gigpo",
    "grpo",
    "gspo_loss",
    "hybrid",
    "kl_cov_loss",
    "kl_penalty",
    "loss",
    "ppo_loss",
    "read_recipe",
    "reinforce_plus_plus",
    "reinforce_plus_plus_baseline",
    "rloo",
    "token_gae",
    "train",
    "turn_grpo",
    "value_loss",
]


def __getattr__(name: str) -> object:
    # Imported at first use, so that `import ragen_starpo` loads neither torch nor pydantic.
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
