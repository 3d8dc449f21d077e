"""Saves a sample of an iteration's rollouts as a run that `ragen-bench report` reads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path

from ragen_bench.json_types import JsonObject
from ragen_bench.models.prompt import prompt_hash
from ragen_bench.runs.atomic import replacing_folder
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.json_lines import write_whole
from ragen_bench.runs.provenance import machine, versions
from ragen_bench.runs.schema import SCHEMA, EpisodeRecord, RunConfig
from ragen_bench.runs.specification import spec_hash, suite_hash
from ragen_envs.core.protocol import ResponseFormat
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.recipes.sections import EnvironmentSettings
from ragen_starpo.rollout.training_envs import training_env


def save_rollouts(
    folder: Path,
    recipe: Recipe,
    number: int,
    temperature: float,
    records: Sequence[EpisodeRecord],
) -> None:
    """Write the first groups of an iteration as a run directory of the harness.

    Instances are drawn at random, so the first ones are a fair sample. `records` are all
    rollouts before the filter, by group. An old directory is replaced.
    """
    saved = records[: recipe.records.groups * recipe.rollouts.samples]
    config = _config(recipe, number, temperature, _envs(recipe, saved))
    with replacing_folder(folder) as draft:
        run = RunDirectory(draft, config)
        write_whole(draft / "run.json", config.as_json())
        for record in saved:
            run.append(record)


def _config(
    recipe: Recipe, number: int, temperature: float, envs: Sequence[JsonObject]
) -> RunConfig:
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


def _envs(recipe: Recipe, saved: Sequence[EpisodeRecord]) -> list[JsonObject]:
    """Return the environments of episodes with their instances."""
    indices: dict[str, dict[int, None]] = {}
    for record in saved:
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
    """Return the hash of a training environment's specification."""
    return spec_hash(env, "train", response_format, partial(training_env, changes=changes))
