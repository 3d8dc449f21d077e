"""Runs a study's jobs, several at a time; a failed job does not affect the others."""

from __future__ import annotations

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

from ragen_bench.errors import INTERRUPTED, UserError, missing_extra
from ragen_bench.runs.atomic import write_text
from ragen_bench.runs.json_lines import read_whole, write_whole
from ragen_envs.core.sums import sum_in_order
from ragen_starpo.commands import Commands, OtherCommandsError, Stage
from ragen_starpo.studies.jobs import MODELS, Job, model_name, read_recipes, run_name
from ragen_starpo.studies.outcomes import FAILED
from ragen_starpo.studies.study import Scale, Study

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

    Args:
        folder: Folder of the study.
        study: The study.
        scale: Scale of its recipes.

    Raises:
        UserError: An arm's recipe is invalid, the folder holds another study or other files, or
            another command runs it.
    """
    plan = {"scale": scale, "study": asdict(study), "recipes": read_recipes(study, scale)}
    _check_plan(folder, json.loads(json.dumps(plan)))
    try:
        with FileLock(folder / ".lock", timeout=0):
            yield
    except Timeout:
        raise UserError(f"{folder} is being run by another process", 1) from None


def _check_plan(folder: Path, plan: dict[str, Any]) -> None:
    file = folder / _PLAN
    if file.exists():
        if read_whole(file) != plan:
            raise UserError(
                f"{folder} holds another study, or an older version of this one; choose another "
                "--out"
            )
        return
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"{folder} holds files that are not of a study; choose another --out")
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(file, plan)


@contextmanager
def lock_models(folder: Path, models: Path | None) -> Iterator[None]:
    """Link a study to models that several studies share, and lock them.

    Args:
        folder: Folder of the study.
        models: Folder of the shared models; None to keep the study's present folder.

    Raises:
        UserError: The study has its models elsewhere, or another study is making some.
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
    """Run independent jobs, several at a time; stages that are done are not run again.

    Args:
        folder: Folder of the study.
        jobs: The jobs, each in a folder of its own.
        threads: Number of jobs at a time.
        on_stage: Called from several threads.
        commands: Runs the stages.

    Returns:
        Why jobs failed, by name. `failed.txt` in a job's folder says it too.
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
    """Estimates the seconds that a study still takes, from the stages that are done.

    Args:
        jobs: All jobs of the study.
        at_once: Number of jobs at a time.
    """

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
