"""The jobs of a study: for each arm and seed, the commands that train and test a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.suites import env_id
from ragen_starpo.commands import Stage
from ragen_starpo.recipes.recipe import Recipe, read_recipe
from ragen_starpo.studies.metrics import METRICS
from ragen_starpo.studies.study import Arm, Claim, Model, Scale, Study

TEST = "test"
"""Folder of the last model's evaluation on the test split, next to the run."""
BEFORE = "before"
"""Folder of the first model's evaluation, which a study may ask for."""
RUN = "run"
MODELS = "models"
"""Folder of the models that runs begin with. It may be a link, shared by several studies."""
_SEED_OF_TEST = 1
"""Models are selected on val with seed 0, so the test uses another seed."""


@dataclass(frozen=True)
class Job:
    """Commands that run one after the other in a folder.

    Attributes:
        name: Folder of the job, relative to the study's.
        stages: The commands.
        settings: Further settings that decide the result.
        needs: Name of the job that makes the model; empty if there is none.
    """

    name: str
    stages: tuple[Stage, ...]
    settings: dict[str, Any]
    needs: str = ""


def model_jobs(study: Study, scale: Scale, seeds: int) -> list[Job]:
    """Return the jobs that make the models of the arms; none at the scale `gpu`."""
    if scale != "small":
        return []
    used = dict.fromkeys(arm.model for arm in study.arms.values())
    return [
        Job(model_name(name, seed), _model_stages(study.models[name], seed), {})
        for name in used
        for seed in study.seed_range(seeds)
    ]


def run_jobs(study: Study, scale: Scale, seeds: int) -> list[Job]:
    """Return the training jobs, seed by seed, so that an interrupted study has complete seeds.

    Raises:
        UserError: An arm's recipe is invalid.
    """
    return [
        _run_job(study, name, arm, scale, seed)
        for seed in study.seed_range(seeds)
        for name, arm in study.arms.items()
    ]


def read_recipes(study: Study, scale: Scale) -> dict[str, Any]:
    """Return the recipes of a study's arms with their first seed, as JSON.

    Raises:
        UserError: An arm's recipe is invalid.
    """
    return {
        name: _read_recipe(study, name, arm, scale, study.first_seed).as_json()
        for name, arm in study.arms.items()
    }


def run_name(arm: str, seed: int) -> str:
    """Return the folder of a run, relative to the study's."""
    return f"runs/{arm}/seed-{seed}"


def model_name(model: str, seed: int) -> str:
    """Return the folder of a model, relative to the study's."""
    return f"{MODELS}/{model}/seed-{seed}"


def _run_job(study: Study, name: str, arm: Arm, scale: Scale, seed: int) -> Job:
    recipe = _read_recipe(study, name, arm, scale, seed)
    driver = "local" if scale == "small" else "verl"
    settings = _settings(study, arm, scale, seed)
    training = (driver, _recipe_name(study, arm, scale), *settings, "--out", RUN)
    options = _test_options(study, arm, recipe)
    stages = [Stage("training", "ragen-train", training)]
    if study.test_instances:
        stages.append(_test(f"{RUN}/final", options, TEST))
    thinks = recipe.response_format == "think"
    if study.test_instances and (thinks or study.test_first):
        stages.append(_test(recipe.model, options, BEFORE))
    if study.test_instances and thinks:
        stages += [_analysis(BEFORE), _analysis(TEST)]
    elif any(claim.figure == "failures_alike" for _, claim in study.claims_about(name)):
        stages.append(_analysis(TEST))
    needs = model_name(arm.model, seed) if scale == "small" else ""
    return Job(run_name(name, seed), tuple(stages), {"recipe": recipe.as_json()}, needs)


def _test_options(study: Study, arm: Arm, recipe: Recipe) -> tuple[str, ...]:
    """Return the options of the test, which plays as the validation does."""
    envs = [part for env in arm.envs or recipe.envs for part in ("--env", env_id(env))]
    history = {None: "full", 0: "none"}.get(recipe.rollouts.history, str(recipe.rollouts.history))
    return (
        *envs,
        *("--format", recipe.response_format, "--max-tokens", str(recipe.rollouts.max_tokens)),
        *("--history", history, "--temperature", str(recipe.validation.temperature)),
        *("--split", "test", "--limit", str(study.test_instances), "--seed", str(_SEED_OF_TEST)),
    )


def _read_recipe(study: Study, name: str, arm: Arm, scale: Scale, seed: int) -> Recipe:
    """Return the recipe of a run, which must not end before its last iteration.

    A collapse is an outcome of a study, so it must not make the command fail.
    """
    recipe = read_recipe(_recipe_name(study, arm, scale), _settings(study, arm, scale, seed))
    if recipe.monitor.action == "stop":
        raise UserError(
            f"arms.{name}: runs must reach the last iteration; remove monitor.action=stop"
        )
    if recipe.give_up_after < recipe.iterations:
        raise UserError(
            f"arms.{name}: runs must reach the last iteration, also if the filter keeps nothing; "
            f"set give_up_after={recipe.iterations}"
        )
    _check_measured(study, name, recipe)
    return recipe


def _check_measured(study: Study, arm: str, recipe: Recipe) -> None:
    """Check that a run measures the metrics of the claims about it."""
    has_need = {
        "val": bool(recipe.validation.every),
        "information": bool(recipe.diagnostics.thoughts),
        "thoughts": recipe.response_format == "think",
    }
    settings = {
        "val": "validation.every above 0",
        "information": "diagnostics.thoughts above 0",
        "thoughts": "response_format=think",
    }
    for number, claim in study.claims_about(arm):
        _check_tested(number, claim, arm, study.arms[arm].envs or recipe.envs)
        needs = METRICS[claim.figure].needs
        if not has_need.get(needs, True):
            raise UserError(f"claim {number}: {claim.figure} needs {settings[needs]}")


def _check_tested(number: int, claim: Claim, arm: str, envs: tuple[str, ...]) -> None:
    """Check that an arm is tested in the environments that a claim compares."""
    tested = [env_id(env) for env in envs]
    compared = tested[1:] if claim.figure == "failures_alike" else tested
    if not compared:
        raise UserError(f"claim {number}: {claim.figure} needs at least two arms.{arm}.envs")
    if claim.env and env_id(claim.env) not in compared:
        raise UserError(
            f"claim {number}: env is {claim.env}, but arms.{arm} measures {claim.figure} in "
            f"{', '.join(compared)}"
        )


def _model_stages(model: Model, seed: int) -> tuple[Stage, ...]:
    envs = [part for env in model.envs for part in ("--env", env_id(env))]
    form = ("--format", model.response_format, "--max-tokens", str(model.max_tokens))
    length = ("--episodes", str(model.episodes), "--epochs", str(model.epochs))
    episodes = ("--player", model.player, *length, "--batch", str(model.batch))
    rate = ("--learning-rate", str(model.learning_rate), "--seed", str(seed))
    thinks = ("--thinks",) if model.response_format == "think" else ()
    bandit = ("--bandit",) if model.bandit else ()
    size = ("--width", str(model.width), "--layers", str(model.layers))
    made = ("small-model", "untrained", *thinks, *bandit, *size, "--seed", str(seed))
    return (
        Stage("model", "ragen-train", made),
        Stage(
            "warm start",
            "ragen-train",
            ("warm-start", "untrained", "--out", "warm", *envs, *form, *episodes, *rate),
        ),
    )


def _test(model: str, options: tuple[str, ...], out: str) -> Stage:
    return Stage(out, "ragen-bench", ("evaluate", f"hf/{model}", *options, "--out", out))


def _analysis(folder: str) -> Stage:
    return Stage(f"analysis of {folder}", "ragen-bench", ("analyse", folder))


def _recipe_name(study: Study, arm: Arm, scale: Scale) -> str:
    thinks = scale == "small" and study.models[arm.model].response_format == "think"
    base = "small-think" if thinks else scale
    return f"{arm.rows}@{base}" if arm.rows else base


def _settings(study: Study, arm: Arm, scale: Scale, seed: int) -> tuple[str, ...]:
    model = Path("../../..") / model_name(arm.model, seed) / "warm"
    of_scale = (f"model={model}",) if scale == "small" else ()
    return (*of_scale, f"seed={seed}", *study.settings.get(scale, ()), *arm.settings)
