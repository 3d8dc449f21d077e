"""A sample of an iteration's rollouts, kept as a run that `ragen-bench report` reads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

from ragen_bench.models.prompt import prompt_hash
from ragen_bench.runs.atomic import replacing_folder
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.json_lines import write_whole
from ragen_bench.runs.provenance import machine, versions
from ragen_bench.runs.schema import SCHEMA, EpisodeRecord, Object, RunConfig
from ragen_bench.runs.specification import spec_hash, suite_hash
from ragen_envs.core.protocol import ResponseFormat
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.recipes.sections import EnvironmentSettings
from ragen_starpo.rollout.training_envs import training_env


def keep_rollouts(
    folder: Path,
    recipe: Recipe,
    number: int,
    temperature: float,
    played: Sequence[EpisodeRecord],
) -> None:
    """Write the first groups of an iteration as a run directory of the harness.

    The seed draws the instances of an iteration, so its first ones are as good a sample as any.

    Args:
        folder: of the run directory; what is there is replaced.
        recipe: of the training.
        number: of the iteration, from 0 on.
        temperature: that the rollouts were sampled at.
        played: all rollouts of the iteration before any filter, by group.

    Raises:
        OSError: if it cannot be written.
    """
    kept = played[: recipe.records.groups * recipe.rollouts.samples]
    config = _config(recipe, number, temperature, _envs(recipe, kept))
    with replacing_folder(folder) as draft:
        run = RunDirectory(draft, config)
        write_whole(draft / "run.json", config.as_json())
        for record in kept:
            run.append(record)


def _config(recipe: Recipe, number: int, temperature: float, envs: Sequence[Object]) -> RunConfig:
    """Return the content of run.json."""
    hashes = {env["id"]: (env["instances"], env["spec_hash"]) for env in envs}
    max_tokens, history = recipe.rollouts.max_tokens, recipe.rollouts.history
    return RunConfig.model_validate(
        {
            "schema": SCHEMA,
            "model": f"{recipe.name or recipe.model}, iteration {number} of its training",
            "model_identity": {"trained_from": recipe.model, "iteration": number},
            "slots": 1,
            "group_size": 1,
            "suite": "",
            "suite_version": 0,
            "suite_hash": suite_hash(hashes, max_tokens),
            "split": "train",
            "samples": recipe.rollouts.samples,
            "seed": recipe.seed,
            "temperature": temperature,
            "max_tokens": max_tokens,
            "response_format": recipe.response_format,
            "history": history,
            "constrained": False,
            "prompt_hash": prompt_hash(recipe.response_format, history, None),
            "envs": envs,
            "versions": versions(),
            "command": "ragen-train",
            "machine": machine(),
        }
    )


def _envs(recipe: Recipe, kept: Sequence[EpisodeRecord]) -> list[Object]:
    """Return the environments of episodes, each with the instances that it has in them."""
    indices: dict[str, dict[int, None]] = {}
    for record in kept:
        indices.setdefault(record.env, {})[record.index] = None
    return [
        {
            "id": env,
            "instances": len(of_env),
            "spec_hash": _spec_hash(env, recipe.response_format, recipe.environment),
            "indices": list(of_env),
        }
        for env, of_env in indices.items()
    ]


@cache
def _spec_hash(env: str, response_format: ResponseFormat, changes: EnvironmentSettings) -> str:
    """Return the hash of an environment that is trained on, with the recipe's changes."""
    return spec_hash(env, "train", response_format, partial(training_env, changes=changes))
