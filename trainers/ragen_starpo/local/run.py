"""The directory of a training run: settings, metrics, checkpoints and saved rollouts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path

from ragen_bench.errors import UserError, missing_extra
from ragen_bench.json_types import JsonObject
from ragen_bench.models.prompt import prompt_hash
from ragen_bench.reading import count_line_ends
from ragen_bench.runs.atomic import write_text
from ragen_bench.runs.differences import first_difference
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.json_lines import append, read_whole, to_line, write_whole
from ragen_bench.runs.provenance import machine, versions
from ragen_bench.runs.schema import SCHEMA, EpisodeRecord, RunConfig
from ragen_bench.runs.specification import spec_hash, suite_hash
from ragen_envs.core.folders import replacing_folder
from ragen_envs.core.protocol import ResponseFormat
from ragen_starpo.local.run_files import (
    DATE,
    DRIVER,
    START,
    check_files,
    read_driver,
    read_lines,
    read_start,
)
from ragen_starpo.made_folder import check_place
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.recipes.run_sections import EnvironmentSettings
from ragen_starpo.rollout.episodes import training_env
from ragen_starpo.rollout.own_reward import OwnReward

try:
    from filelock import FileLock, Timeout
except ImportError as missing:
    raise missing_extra(missing, "train") from missing

_SCHEMA = 1
_RECIPE = "recipe.json"
MEMORY = "memory.jsonl"


class TrainingDirectory:
    """The files of a run.

    - `recipe.json`: the settings, and the hash of a user's own reward.
    - `metrics.jsonl`: a line per iteration, which depends on the settings alone.
    - `start.json`: the held-out metrics of the initial model, and the date that the chat template
      writes, if it writes one.
    - `memory.jsonl`: the estimate of its memory, a line per start.
    - `timings.jsonl`: the seconds of each iteration.
    - `warnings.jsonl`: the echo trap's warnings.
    - `failures.jsonl`: a line per iteration that dropped groups for failed episodes.
    - `rollouts/`: a run of the harness for each iteration whose rollouts are saved.
    - `checkpoints/`: the state that a resumed run needs.
    - `best/`, `final/`: the model of the highest held-out success, and the last one.

    The directory is made, or belongs to a run of the same recipe, else UserError. A finished run
    needs no recipe and is not checked.
    """

    def __init__(self, path: Path, recipe: Recipe | None = None) -> None:
        self.path = path
        if recipe is None:
            return
        check_run(path, recipe)
        path.mkdir(parents=True, exist_ok=True)
        settings = _settings(recipe)
        if not (path / _RECIPE).exists() or read_whole(path / _RECIPE) != settings:
            write_whole(path / _RECIPE, settings)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other writers out; UserError if another process is writing."""
        try:
            with FileLock(self.path / ".lock", timeout=0):
                yield
        except Timeout:
            raise UserError(f"{self.path} is being written by another process", 1) from None

    def resume(self, driver: str) -> tuple[int, Path] | None:
        """Return the next iteration and the checkpoint before it, and drop later results.

        Without a checkpoint the run starts over, and None is returned. UserError if another
        driver wrote the checkpoint.
        """
        checkpoints, done = _checkpoints(self.path), iterations_done(self.path)
        if checkpoints:
            there = read_driver(checkpoints[done])
            if there != driver:
                raise UserError(
                    f"{self.path} was started by ragen-train {there}; continue with that, or "
                    "choose another --out"
                )
        for name in ("metrics.jsonl", "timings.jsonl", "warnings.jsonl", "failures.jsonl"):
            kept = [line for line in self.lines(name) if line["iteration"] < done]
            write_text(self.path / name, "".join(f"{to_line(line).decode()}\n" for line in kept))
        for number, folder in _iterations(self.path / "rollouts").items():
            if number >= done:
                shutil.rmtree(folder)
        return (done, checkpoints[done]) if checkpoints else None

    def rollouts(self, number: int) -> Path:
        """Return the folder of an iteration's rollouts, which need not exist."""
        return self.path / "rollouts" / _name(number)

    @contextmanager
    def checkpoint(self, done: int, driver: str) -> Iterator[Path]:
        """Give an empty folder for the checkpoint of a driver, and keep the latest two."""
        with replacing_folder(self.path / "checkpoints" / _name(done)) as draft:
            yield draft
            (draft / DRIVER).write_text(driver + "\n", encoding="utf-8")
        checkpoints = _checkpoints(self.path)
        kept = {checkpoints[number] for number in sorted(checkpoints)[-2:]}
        for folder in set((self.path / "checkpoints").iterdir()) - kept:
            if folder.is_dir():
                shutil.rmtree(folder)

    def start(self) -> dict[str, float]:
        """Return the held-out metrics of the initial model; empty if there are none."""
        return {name: value for name, value in read_start(self.path).items() if name != DATE}

    def write_start(self, metrics: Mapping[str, float]) -> None:
        """Record the held-out metrics of the initial model."""
        date = {name: value for name, value in read_start(self.path).items() if name == DATE}
        write_whole(self.path / START, {**metrics, **date})

    def record_day(self, day: str | None) -> None:
        """Record the date of all prompts, unless an earlier process did; None for no date."""
        started = read_start(self.path)
        if day is not None and DATE not in started:
            write_whole(self.path / START, {**started, DATE: day})

    def append(self, name: str, line: JsonObject) -> None:
        """Add a line to a file of lines; UserError if it cannot be written."""
        append(self.path / name, line)

    def lines(self, name: str) -> Iterator[JsonObject]:
        """Yield the complete lines of a file, see `read_lines`."""
        return read_lines(self.path / name)


def recorded_day(path: Path) -> str | None:
    """Return the date of a run's prompts, whose directory need not exist; None without one."""
    day: str | None = read_start(path).get(DATE)
    return day


def check_run(path: Path, recipe: Recipe) -> None:
    """Raise UserError if a directory, which need not exist, cannot hold a recipe's run."""
    check_place(path)
    check_files(path)
    settings = _settings(recipe)
    if not (path / _RECIPE).exists():
        if path.exists() and any(path.iterdir()):
            raise UserError(
                f"{path} holds something else than a training run; choose another --out"
            )
        return
    there = read_whole(path / _RECIPE)
    acts = recipe.monitor.action != "none"
    different = first_difference(
        _relevant_settings(there, acts), _relevant_settings(settings, acts), "", "given"
    )
    if different:
        raise UserError(
            f"{path} is a run with other settings ({different}); give the recorded ones to resume "
            "it, or choose another --out"
        )
    done = iterations_done(path)
    if done > recipe.iterations:
        raise UserError(
            f"{path} has {done} iterations already; give iterations={done} or more, or choose "
            "another --out"
        )


def is_finished(path: Path, iterations: int) -> bool:
    """Return whether a run, whose directory need not exist, has completed all its iterations."""
    if iterations not in _checkpoints(path) or not (path / "final").is_dir():
        return False
    # A run that a warning stopped has more lines than its last checkpoint.
    return count_line_ends(path / "metrics.jsonl") == iterations


def iterations_done(path: Path) -> int:
    """Return the number of iterations in a run's latest checkpoint, or 0 without any."""
    return max(_checkpoints(path), default=0)


def _checkpoints(path: Path) -> dict[int, Path]:
    return _iterations(path / "checkpoints")


def _iterations(path: Path) -> dict[int, Path]:
    folders = path.glob(_name(0).replace("0", "[0-9]"))
    return {int(folder.name.partition("_")[2]): folder for folder in folders if folder.is_dir()}


def _name(number: int) -> str:
    return f"iteration_{number:06d}"


def _settings(recipe: Recipe) -> JsonObject:
    settings = {"schema": _SCHEMA, **json.loads(json.dumps(recipe.as_json()))}
    if recipe.shaping.python:
        settings["shaping"] |= OwnReward(recipe.shaping.python).identity()
    return settings


def _relevant_settings(settings: JsonObject, acts: bool) -> JsonObject:
    """Return the settings that a run's weights depend on.

    Others are the number of iterations, the name, saved rollouts, the size of micro-batches and
    diagnostics, except that a monitor that acts watches the metrics of thoughts. An old recipe
    has no table of diagnostics.
    """
    thoughts = settings.get("diagnostics", {}).get("thoughts", 0) if acts else 0
    ignored = {"iterations": 0, "name": "", "records": {}, "diagnostics": {"thoughts": thoughts}}
    return {**settings, **ignored, "micro_batch": 0, "micro_batch_tokens": None}


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
    config = _config(recipe, number, temperature, saved)
    with replacing_folder(folder) as draft:
        run = RunDirectory(draft, config)
        write_whole(draft / "run.json", config.as_json())
        for record in saved:
            run.append(record)


def _config(
    recipe: Recipe, number: int, temperature: float, saved: Sequence[EpisodeRecord]
) -> RunConfig:
    indices: dict[str, dict[int, None]] = {}
    for record in saved:
        indices.setdefault(record.env, {})[record.index] = None
    envs: list[JsonObject] = [
        {
            "id": env,
            "instances": len(of_env),
            "spec_hash": _spec_hash(env, recipe.response_format, recipe.environment),
            "indices": list(of_env),
        }
        for env, of_env in indices.items()
    ]
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


@cache
def _spec_hash(env: str, response_format: ResponseFormat, changes: EnvironmentSettings) -> str:
    return spec_hash(env, "train", response_format, partial(training_env, changes=changes))
