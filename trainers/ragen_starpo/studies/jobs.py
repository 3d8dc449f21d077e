"""The jobs of a study: commands that train and test its models, run several at a time."""

from __future__ import annotations

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

from ragen_bench.errors import INTERRUPTED, UserError, missing_extra
from ragen_bench.json_types import JsonObject
from ragen_bench.runs.atomic import write_text
from ragen_bench.runs.json_lines import read_whole, write_whole
from ragen_bench.suites import env_id
from ragen_envs.core.sums import sum_in_order
from ragen_starpo.commands import Commands, OtherCommandsError, Stage
from ragen_starpo.recipes.recipe import Recipe, read_recipe
from ragen_starpo.studies.study import METRICS, Arm, Model, Scale, Study

TEST = "test"
"""Folder of the last model's evaluation on the test split, next to the run."""
BEFORE = "before"
"""Folder of the first model's evaluation, which a study may ask for."""
RUN = "run"
FAILED = "failed.txt"
"""File in a job's folder with the reason why its last command failed."""
MODELS = "models"
"""Folder of the models that runs begin with. It may be a link, shared by several studies."""
_SEED_OF_TEST = 1
"""Models are selected on val with seed 0, so the test uses another seed."""


@dataclass(frozen=True)
class Job:
    """Commands that run one after the other in a folder, whose name is relative to the study's.

    The settings decide the result too; `needs` is the name of the job that makes the model, or "".
    """

    name: str
    stages: tuple[Stage, ...]
    settings: JsonObject
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
    """Return the training jobs, seed by seed, so that an interrupted study has complete seeds."""
    return [
        _run_job(study, name, scale, seed)
        for seed in study.seed_range(seeds)
        for name in study.arms
    ]


def read_recipes(study: Study, scale: Scale) -> JsonObject:
    """Return the recipes of a study's arms with their first seed, as JSON."""
    return {
        name: _read_recipe(study, name, scale, study.first_seed).as_json() for name in study.arms
    }


def run_name(arm: str, seed: int) -> str:
    """Return the folder of a run, relative to the study's."""
    return f"runs/{arm}/seed-{seed}"


def model_name(model: str, seed: int) -> str:
    """Return the folder of a model, relative to the study's."""
    return f"{MODELS}/{model}/seed-{seed}"


def _run_job(study: Study, name: str, scale: Scale, seed: int) -> Job:
    arm, recipe = study.arms[name], _read_recipe(study, name, scale, seed)
    driver = "local" if scale == "small" else "verl"
    settings = _settings(study, arm, scale, seed)
    training = (driver, _recipe_name(study, arm, scale), *settings, "--out", RUN)
    envs = [part for env in arm.envs or recipe.envs for part in ("--env", env_id(env))]
    history = {None: "full", 0: "none"}.get(recipe.rollouts.history, str(recipe.rollouts.history))
    # The test plays as the validation does.
    options = (
        *envs,
        *("--format", recipe.response_format, "--max-tokens", str(recipe.rollouts.max_tokens)),
        *("--history", history, "--temperature", str(recipe.validation.temperature)),
        *("--split", "test", "--limit", str(study.test_instances), "--seed", str(_SEED_OF_TEST)),
    )
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


def _read_recipe(study: Study, name: str, scale: Scale, seed: int) -> Recipe:
    """Return the recipe of a run, which must reach its last iteration even after a collapse."""
    arm = study.arms[name]
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
    """Check that a run measures the metrics of the claims about it, in their environments."""
    settings = {
        "val": (recipe.validation.every > 0, "validation.every above 0"),
        "information": (recipe.diagnostics.thoughts > 0, "diagnostics.thoughts above 0"),
        "thoughts": (recipe.response_format == "think", "response_format=think"),
    }
    for number, claim in study.claims_about(arm):
        tested = [env_id(env) for env in study.arms[arm].envs or recipe.envs]
        compared = tested[1:] if claim.figure == "failures_alike" else tested
        if not compared:
            raise UserError(f"claim {number}: {claim.figure} needs at least two arms.{arm}.envs")
        if claim.env and env_id(claim.env) not in compared:
            raise UserError(
                f"claim {number}: env is {claim.env}, but arms.{arm} measures {claim.figure} in "
                f"{', '.join(compared)}"
            )
        is_set, setting = settings.get(METRICS[claim.figure].needs, (True, ""))
        if not is_set:
            raise UserError(f"claim {number}: {claim.figure} needs {setting}")


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


try:
    from filelock import FileLock, Timeout
except ImportError as missing:
    raise missing_extra(missing, "train") from missing

OnStage: TypeAlias = Callable[[Job, Stage, float | None], None]
"""Called with a job's stage when it begins, and again with its seconds when it is done."""
_PLAN = "plan.json"


@contextmanager
def lock_study(folder: Path, study: Study, scale: Scale) -> Iterator[None]:
    """Create or check a study's folder, and lock it against other commands.

    A UserError is raised if an arm's recipe is invalid, the folder holds another study or other
    files, or another command runs it.
    """
    plan = {"scale": scale, "study": asdict(study), "recipes": read_recipes(study, scale)}
    plan, file = json.loads(json.dumps(plan)), folder / _PLAN
    if not file.exists():
        if folder.exists() and any(folder.iterdir()):
            raise UserError(f"{folder} holds files that are not of a study; choose another --out")
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(file, plan)
    elif read_whole(file) != plan:
        raise UserError(
            f"{folder} holds another study, or an older version of this one; choose another --out"
        )
    try:
        with FileLock(folder / ".lock", timeout=0):
            yield
    except Timeout:
        raise UserError(f"{folder} is being run by another process", 1) from None


@contextmanager
def lock_models(folder: Path, models: Path | None) -> Iterator[None]:
    """Link a study to a folder of models that several studies share, and lock them.

    None keeps the study's present folder. A UserError is raised if the study has its models
    elsewhere, or another study is making some.
    """
    link = folder / MODELS
    if models is not None:
        models.mkdir(parents=True, exist_ok=True)
        if not link.exists() and not link.is_symlink():
            link.symlink_to(models.resolve(), target_is_directory=True)
        if link.resolve() != models.resolve():
            raise UserError(f"{link} exists already, so --models cannot name another folder")
    if not link.is_symlink():
        yield
        return
    try:
        with FileLock(link / ".lock", timeout=0):
            yield
    except Timeout:
        raise UserError(f"another study makes models in {link.resolve()}; wait for it", 1) from None


def count_seeds(folder: Path, study: Study) -> int:
    """Return the number of seeds up to the highest that has a run or a model in the folder."""
    counts = [0]
    names = [run_name(arm, 0) for arm in study.arms]
    if not (folder / MODELS).is_symlink():  # others may have more seeds
        names += [model_name(model, 0) for model in study.models]
    for name in names:
        for place in (folder / name).parent.glob("seed-*"):
            number = place.name.removeprefix("seed-")
            counts += [int(number) + 1 - study.first_seed] if number.isdecimal() else []
    return max(counts)


def run_jobs_in_threads(
    folder: Path, jobs: Sequence[Job], threads: int, on_stage: OnStage, commands: Commands
) -> dict[str, str]:
    """Run independent jobs, `threads` at a time, less the stages done; return why jobs failed.

    `on_stage` is called from several threads.
    """
    with ThreadPoolExecutor(threads) as pool:
        try:
            futures = [pool.submit(_run, folder, job, commands, on_stage) for job in jobs]
            problems = [future.result() for future in futures]
        except BaseException:
            commands.stop()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return {job.name: why for job, why in zip(jobs, problems, strict=True) if why}


def _run(folder: Path, job: Job, commands: Commands, on_stage: OnStage) -> str:
    """Run a job, and return why it failed; empty if it did not."""
    place = folder / job.name
    failed = place / FAILED
    try:
        commands.run(
            place, job.stages, job.settings, lambda stage, seconds: on_stage(job, stage, seconds)
        )
    except UserError as error:
        if error.exit_code == INTERRUPTED:
            raise
        if not isinstance(error, OtherCommandsError):
            write_text(failed, f"{error}\n")
        return str(error)
    failed.unlink(missing_ok=True)
    return ""


class RemainingTime:
    """Estimates the seconds that a study's jobs, `at_once` at a time, still take by those done."""

    def __init__(self, jobs: Sequence[Job], at_once: int) -> None:
        self._left = Counter(stage.name for job in jobs for stage in job.stages)
        self._at_once = at_once
        self._seconds: dict[str, list[float]] = defaultdict(list)
        self._lock = threading.Lock()

    def finish(self, stage: Stage, seconds: float) -> None:
        """Count a stage as done, in this command or in an earlier one."""
        with self._lock:
            self._left[stage.name] -= 1
            self._seconds[stage.name].append(seconds)

    def drop(self, stages: Sequence[Stage]) -> None:
        """Leave out stages that will not be run."""
        with self._lock:
            self._left.subtract(stage.name for stage in stages)

    def seconds(self) -> float | None:
        """Return the seconds left; None until a stage of each remaining kind has been done."""
        with self._lock:
            left = {name: count for name, count in self._left.items() if count}
            if any(name not in self._seconds for name in left):
                return None
            total = sum_in_order(count * fmean(self._seconds[name]) for name, count in left.items())
        return total / self._at_once
