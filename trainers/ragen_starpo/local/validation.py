"""Held-out success, measured by the harness as it measures any model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ragen_bench.episodes.episode import Record
from ragen_bench.episodes.runner import play, tasks_of
from ragen_bench.models.base import Sampling
from ragen_bench.models.hf import HFModel
from ragen_bench.models.reasoning import stop_text
from ragen_bench.scores.metrics import figures
from ragen_bench.suites import env_id, select
from ragen_starpo.recipes.recipe import Recipe

_SLOTS = 64


def validate(folder: Path, recipe: Recipe) -> dict[str, float]:
    """Return a model's figures on the val split.

    Args:
        folder: that transformers reads.
        recipe: with environments, form of the answers and settings of the validation. Noise and
            sampling are those of seed 0, so that two models meet the same.

    Returns:
        `success`, the mean over environments; and `NAME/success`, `NAME/low`, `NAME/high`, the
        share of each with its 95 % interval.
    """
    settings = recipe.validation
    model = HFModel(str(folder), _SLOTS)
    stop = stop_text(recipe.response_format, constrain=False)
    sampling = Sampling(settings.temperature, recipe.rollouts.max_tokens, stop, 0)
    instances = select(None, list(recipe.envs), settings.instances)
    tasks = tasks_of(instances, "val", 1)
    records = [
        played.record
        for played in play(tasks, model, sampling, recipe.response_format)
        if played.record is not None
    ]
    return held_out(records, recipe)


def held_out(records: Sequence[Record], recipe: Recipe) -> dict[str, float]:
    """Return the figures of held-out episodes, see `validate`.

    Args:
        records: of all environments of the recipe.
        recipe: of the run.
    """
    found: dict[str, float] = {}
    shares = []
    for env in map(env_id, recipe.envs):
        of_env = figures([record for record in records if record["env"] == env])
        shares.append(of_env["success"])
        name = env.partition("/")[2]
        low, high = of_env["success_interval"]
        found |= {f"{name}/success": shares[-1], f"{name}/low": low, f"{name}/high": high}
    return {"success": sum(shares) / len(shares), **found}
