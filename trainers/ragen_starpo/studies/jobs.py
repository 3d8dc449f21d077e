"""What a study runs: for each arm and seed a training and its test, each a command."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.suites import env_id
from ragen_starpo.commands import Stage
from ragen_starpo.recipes.recipe import Recipe, read_recipe
from ragen_starpo.studies.study import (
    OF_FAILURES,
    OF_INFORMATION,
    OF_LENGTH,
    OF_VAL,
    Arm,
    Claim,
    Model,
    Scale,
    Study,
)

TEST = "test"
"""The folder of the last model's evaluation on the test split, beside the run."""
BEFORE = "before"
"""That of the model that training begins with, where it is asked for or thinks."""
RUN = "run"
MODELS = "models"
"""The folder of the models that runs begin with, which may be a link to that of several studies."""
_SEED_OF_TEST = 1
"""Models are chosen by val with seed 0; other noise tells what they reach."""


@dataclass(frozen=True)
class Job:
    """Commands that are run one after the other in a folder.

    Attributes:
        name: as its folder, from the study's.
        stages: the commands.
        settings: what else decides what they do.
        needs: the job whose model it begins with; empty for none.
    """

    name: str
    stages: tuple[Stage, ...]
    settings: dict[str, Any]
    needs: str = ""


def model_jobs(study: Study, scale: Scale, seeds: int) -> list[Job]:
    """Return what makes the models that arms begin with: none at `gpu`."""
    if scale != "small":
        return []
    used = dict.fromkeys(arm.model for arm in study.arms.values())
    return [
        Job(model_name(name, seed), _making(study.models[name], seed), {})
        for name in used
        for seed in study.numbered(seeds)
    ]


def run_jobs(study: Study, scale: Scale, seeds: int) -> list[Job]:
    """Return the trainings, seed by seed, so that a study that is ended has whole seeds.

    Raises:
        UserError: if an arm's recipe cannot be.
    """
    return [
        _run(study, name, arm, scale, seed)
        for seed in study.numbered(seeds)
        for name, arm in study.arms.items()
    ]


def recipes(study: Study, scale: Scale) -> dict[str, Any]:
    """Return the recipes of a study's arms with their first seed, as JSON.

    Raises:
        UserError: if an arm's recipe cannot be.
    """
    return {
        name: _recipe(study, name, arm, scale, study.first_seed).as_json()
        for name, arm in study.arms.items()
    }


def run_name(arm: str, seed: int) -> str:
    """Return the folder of a run, from the study's."""
    return f"runs/{arm}/seed-{seed}"


def model_name(model: str, seed: int) -> str:
    """Return the folder of a model that runs begin with, from the study's."""
    return f"{MODELS}/{model}/seed-{seed}"


def _run(study: Study, name: str, arm: Arm, scale: Scale, seed: int) -> Job:
    recipe = _recipe(study, name, arm, scale, seed)
    driver = "local" if scale == "small" else "verl"
    settings = _settings(study, arm, scale, seed)
    training = (driver, _recipe_name(study, arm, scale), *settings, "--out", RUN)
    played = _played(study, arm, recipe)
    stages = [Stage("training", "ragen-train", training)]
    if study.test_instances:
        stages.append(_test(f"{RUN}/final", played, TEST))
    thinks = recipe.response_format == "think"
    if study.test_instances and (thinks or study.test_first):
        stages.append(_test(recipe.model, played, BEFORE))
    if study.test_instances and thinks:
        stages += [_analysis(BEFORE), _analysis(TEST)]
    elif any(claim.figure in OF_FAILURES for _, claim in study.claims_about(name)):
        stages.append(_analysis(TEST))
    needs = model_name(arm.model, seed) if scale == "small" else ""
    return Job(run_name(name, seed), tuple(stages), {"recipe": recipe.as_json()}, needs)


def _played(study: Study, arm: Arm, recipe: Recipe) -> tuple[str, ...]:
    """Return how models are tested: on other instances, as they are validated while trained."""
    named = [part for env in arm.envs or recipe.envs for part in ("--env", env_id(env))]
    history = {None: "full", 0: "none"}.get(recipe.rollouts.history, str(recipe.rollouts.history))
    return (
        *named,
        *("--format", recipe.response_format, "--max-tokens", str(recipe.rollouts.max_tokens)),
        *("--history", history, "--temperature", str(recipe.validation.temperature)),
        *("--split", "test", "--limit", str(study.test_instances), "--seed", str(_SEED_OF_TEST)),
    )


def _recipe(study: Study, name: str, arm: Arm, scale: Scale, seed: int) -> Recipe:
    """Return the recipe of a run, which goes on to its last iteration.

    What ends a run early is an outcome and no failure, so it must not end the command.
    """
    recipe = read_recipe(_recipe_name(study, arm, scale), _settings(study, arm, scale, seed))
    if recipe.monitor.action == "stop":
        raise UserError(f"arms.{name}: runs go on to the end; leave monitor.action=stop out")
    if recipe.give_up_after < recipe.iterations:
        raise UserError(
            f"arms.{name}: runs go on to the end, also where nothing is left to learn from; set "
            f"give_up_after={recipe.iterations}"
        )
    _check_measured(study, name, recipe)
    return recipe


def _check_measured(study: Study, arm: str, recipe: Recipe) -> None:
    """Check that a run measures what claims about it are judged by."""
    for number, claim in study.claims_about(arm):
        _check_tested(number, claim, arm, study.arms[arm].envs or recipe.envs)
        if claim.figure in OF_VAL and not recipe.validation.every:
            raise UserError(f"claim {number}: {claim.figure} needs validation.every above 0")
        if claim.figure in OF_INFORMATION and not recipe.diagnostics.thoughts:
            raise UserError(f"claim {number}: {claim.figure} needs diagnostics.thoughts above 0")
        if claim.figure in OF_LENGTH and recipe.response_format != "think":
            raise UserError(f"claim {number}: {claim.figure} needs response_format=think")


def _check_tested(number: int, claim: Claim, arm: str, envs: tuple[str, ...]) -> None:
    """Check that an arm is tested in what a claim about it compares."""
    tested = [env_id(env) for env in envs]
    compared = tested[1:] if claim.figure in OF_FAILURES else tested
    if not compared:
        raise UserError(f"claim {number}: {claim.figure} needs at least two arms.{arm}.envs")
    if claim.env and env_id(claim.env) not in compared:
        raise UserError(
            f"claim {number}: env is {claim.env}, and arms.{arm} has a {claim.figure} of "
            f"{', '.join(compared)}"
        )


def _making(model: Model, seed: int) -> tuple[Stage, ...]:
    envs = [part for env in model.envs for part in ("--env", env_id(env))]
    form = ("--format", model.response_format, "--max-tokens", str(model.max_tokens))
    length = ("--episodes", str(model.episodes), "--epochs", str(model.epochs))
    shown = ("--player", model.player, *length, "--batch", str(model.batch))
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
            ("warm-start", "untrained", "--out", "warm", *envs, *form, *shown, *rate),
        ),
    )


def _test(model: str, played: tuple[str, ...], out: str) -> Stage:
    return Stage(out, "ragen-bench", ("evaluate", f"hf/{model}", *played, "--out", out))


def _analysis(folder: str) -> Stage:
    return Stage(f"analysis of {folder}", "ragen-bench", ("analyse", folder))


def _recipe_name(study: Study, arm: Arm, scale: Scale) -> str:
    thinks = scale == "small" and study.models[arm.model].response_format == "think"
    base = "small-think" if thinks else scale
    return f"{arm.rows}@{base}" if arm.rows else base


def _settings(study: Study, arm: Arm, scale: Scale, seed: int) -> tuple[str, ...]:
    begins = Path("../../..") / model_name(arm.model, seed) / "warm"
    of_scale = (f"model={begins}",) if scale == "small" else ()
    return (*of_scale, f"seed={seed}", *study.settings.get(scale, ()), *arm.settings)
