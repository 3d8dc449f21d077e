"""The store of runs: a file for each arm and look, written once and shared by equal arms."""

from __future__ import annotations

import json
import struct
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol
from zipfile import BadZipFile, ZipFile

import numpy as np

from ragen_bench.errors import UserError, described
from ragen_bench.reading import open_file
from ragen_bench.runs.atomic import lock_folder, replacing
from ragen_bench.runs.json_lines import read_whole, write_whole
from ragen_starpo.studies.definition import Study, Task
from ragen_starpo.studies.metrics import Runs
from ragen_starpo.studies.results import Finding
from ragen_starpo.studies.verdicts import Judgement, judge

_ARMS = "arms"
_NUMBERS = 1 << 27
"""Bytes of the largest file of runs, unpacked: 16 curves of 256 runs of 4,000 iterations."""
_BAD_ARRAYS = (
    *(OSError, ValueError, KeyError, TypeError, EOFError, MemoryError, OverflowError),
    *(BadZipFile, NotImplementedError, RuntimeError, SyntaxError, zlib.error, struct.error),
)
"""Exceptions of a file of arrays that the studies did not write."""
_MEMORY = 384 << 20
"""Bytes of a GPU that a run of 128 rollouts an iteration takes at most, in its test of 1,024."""


class RunArm(Protocol):
    """Trains the runs of an arm, one for each pair of a warm start and a seed, in that order."""

    def __call__(
        self,
        task: Task,
        settings: Sequence[str],
        *,
        iterations: int,
        warm_starts: Sequence[int],
        seeds: Sequence[int],
        device: str,
        on_runs: Callable[[int], None],
    ) -> Runs:
        """Return the runs' curves and held-out success.

        `on_runs` is called with the number of seed-iterations done since the last call.
        """


@dataclass
class Progress:
    """How far the missing arms of a look are: the arm that is trained, and its number of runs.

    `done` and `total` are seed-iterations of all missing arms, and `rate` those per second of this
    command, 0 before the first.
    """

    arm: str = ""
    runs: int = 0
    finished: bool = False
    done: int = 0
    total: int = 0
    rate: float = 0.0

    @property
    def left(self) -> float | None:
        """Seconds left of this look; None before the first iteration."""
        return (self.total - self.done) / self.rate if self.rate else None


@contextmanager
def open_store(folder: Path, studies: Sequence[Study]) -> Iterator[None]:
    """Create or check the folder of studies' runs, and lock it against other commands.

    A UserError is raised if it holds other files, or another version of a study.
    """
    if folder.exists() and any(folder.iterdir()) and not (folder / _ARMS).is_dir():
        raise UserError(f"{folder} holds files that are not of studies; choose another --out")
    with lock_folder(folder):
        (folder / _ARMS).mkdir(parents=True, exist_ok=True)
        for study in studies:
            plan, file = json.loads(json.dumps(asdict(study))), folder / f"{study.name}.json"
            if not file.exists():
                write_whole(file, plan)
            elif read_whole(file) != plan:
                raise UserError(
                    f"{folder} holds another study {study.name}, or an older version of it; "
                    "choose another --out"
                )
        yield


def load_runs(folder: Path, study: Study, arm: str, seeds: int) -> Runs | None:
    """Return an arm's runs with the first seeds of each warm start; None if some are missing."""
    parts, first = [], 0
    for end in (*study.looks, study.collapse_look):
        if first >= seeds:
            break
        file = _file(folder, study, arm, first, end)
        if not file.exists():
            return None
        parts.append(_read(file))
        first = end
    return _join(parts, study.warm_starts)


def load_finding(folder: Path, study: Study, judgement: Judgement) -> Finding:
    """Return a study with its verdicts and all runs that its looks have."""
    runs = {}
    for arm in study.arms:
        for seeds in (study.collapse_look, *reversed(study.looks)):
            if found := load_runs(folder, study, arm, seeds):
                runs[arm] = found
                break
    return Finding(study, judgement.verdicts, runs)


def run_study(
    study: Study,
    folder: Path,
    run_arm: RunArm,
    device: str,
    on_progress: Callable[[Progress], None],
    looks: int | None = None,
) -> Judgement:
    """Run what a study's open claims still need, look by look, and return its verdicts."""
    began, before = time.monotonic(), 0
    progress = Progress()

    def load(arm: str, seeds: int) -> Runs | None:
        return load_runs(folder, study, arm, seeds)

    def count(iterations: int) -> None:
        progress.done += iterations
        progress.rate = (before + progress.done) / max(time.monotonic() - began, 1e-9)
        on_progress(progress)

    while True:
        judgement = judge(study, load, looks)
        if not judgement.missing:
            return judgement
        before += progress.done
        sizes = {arm: study.warm_starts * (end - first) for arm, first, end in judgement.missing}
        progress.done = 0
        progress.total = sum(size * study.iterations_of(arm) for arm, size in sizes.items())
        for arm, first, end in judgement.missing:
            progress.arm, progress.runs, progress.finished = arm, sizes[arm], False
            file = _file(folder, study, arm, first, end)
            if file.exists():  # an arm of this look is equal to one that has just been run
                count(sizes[arm] * study.iterations_of(arm))
                continue
            runs = run_arm(
                study.task_of(arm),
                study.settings_of(arm),
                iterations=study.iterations_of(arm),
                warm_starts=range(study.warm_starts),
                seeds=range(study.first_seed + first, study.first_seed + end),
                device=device,
                on_runs=count,
            )
            _write(file, runs)
            progress.finished = True
            on_progress(progress)


def needed_memory(study: Study) -> int:
    """Return the bytes of a GPU that the largest look of a study takes at most."""
    seeds = [end - first for first, end in zip((0, *study.looks), study.looks, strict=False)]
    if any(claim.about_collapse for claim in study.claims):
        seeds.append(study.collapse_look - study.looks[-1])
    tasks = [study.task_of(arm) for arm in study.arms]
    rollouts = max(task.groups * task.samples for task in tasks)
    return _MEMORY * study.warm_starts * max(seeds) * -(-rollouts // 128)


def _file(folder: Path, study: Study, arm: str, first: int, end: int) -> Path:
    return folder / _ARMS / study.hash_of(arm) / f"seeds-{first}-{end}.npz"


def _write(file: Path, runs: Runs) -> None:
    file.parent.mkdir(exist_ok=True)
    facts = {"test": runs.test, "start": runs.start, "seconds": np.array(runs.seconds)}
    if runs.gpu_seconds:
        facts["gpu_seconds"] = np.array(runs.gpu_seconds)
    curves = {f"curve-{name}": values for name, values in sorted(runs.curves.items())}
    save: Callable[..., None] = np.savez_compressed
    with replacing(file) as content:
        save(content, **facts, **curves)


def _read(file: Path) -> Runs:
    try:
        with open_file(file) as content:
            with ZipFile(content) as archive:
                size = sum(each.file_size for each in archive.infolist())
            if size > _NUMBERS:
                raise ValueError(f"it unpacks to {size:,} bytes, of {_NUMBERS:,} at most")
            with np.load(content, allow_pickle=False) as loaded:
                arrays = {name: _check_numbers(name, loaded[name]) for name in loaded.files}
        curves = {
            name.removeprefix("curve-"): values
            for name, values in arrays.items()
            if name.startswith("curve-")
        }
        seconds = float(arrays["seconds"]), float(arrays.get("gpu_seconds", 0.0))
        runs = Runs(curves, arrays["test"], arrays["start"], *seconds)
        _check_shapes(runs)
    except _BAD_ARRAYS as error:
        reason = described(error)
        raise UserError(f"{file} cannot be read ({reason}); remove it, and run it again") from None
    return runs


def _check_numbers(name: str, values: np.ndarray) -> np.ndarray:
    if values.dtype.kind not in "fiu":
        raise ValueError(f"{name} holds no numbers")
    return values


def _check_shapes(runs: Runs) -> None:
    """Raise ValueError unless each run has all curves of one length, and its two other numbers."""
    success = runs.curves.get("success")
    if success is None or success.ndim != 2 or not success.size:
        raise ValueError("it has no curve of success by run and iteration")
    if any(values.shape != success.shape for values in runs.curves.values()):
        raise ValueError("its curves differ in shape")
    if runs.test.shape != success.shape[:1] or runs.start.shape != success.shape[:1]:
        raise ValueError("it has other numbers of runs than curves")


def _join(parts: Sequence[Runs], warm_starts: int) -> Runs:
    """Return the runs of several ranges of seeds, in the order of warm starts, then seeds."""

    def join(arrays: Sequence[np.ndarray]) -> np.ndarray:
        split = [one.reshape(warm_starts, -1, *one.shape[1:]) for one in arrays]
        joined = np.concatenate(split, axis=1)
        return joined.reshape(-1, *joined.shape[2:])

    curves = {name: join([part.curves[name] for part in parts]) for name in parts[0].curves}
    test, start = join([part.test for part in parts]), join([part.start for part in parts])
    seconds = np.sum([(part.seconds, part.gpu_seconds) for part in parts], axis=0)
    return Runs(curves, test, start, *map(float, seconds))
