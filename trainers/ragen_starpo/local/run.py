"""A training run as a directory: its settings, its figures and its checkpoints."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError, missing_extra
from ragen_bench.runs.atomic import replacing_folder, write_text
from ragen_bench.runs.differences import first_difference
from ragen_bench.runs.json_lines import append, line_of, numbered, read_whole, write_whole
from ragen_starpo.made_folder import check_place
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.rollout.own_reward import OwnReward

try:
    from filelock import FileLock, Timeout
except ImportError as missing:
    raise missing_extra(missing, "train") from missing

_SCHEMA = 1
_RECIPE = "recipe.json"
_DRIVER = "driver.txt"
_START = "start.json"


class TrainingDirectory:
    """The files of a run.

    `recipe.json` holds the settings, and the hash of a reward of the user's own; `metrics.jsonl` a
    line for each iteration, which follow from the settings alone; `start.json` the held-out figures
    of the model that training begins with;
    `timings.jsonl` the iterations' seconds; `warnings.jsonl` the echo trap's; `failures.jsonl` a
    line for each iteration that left groups out because episodes ended in errors;
    `rollouts/` some of what was played, a run of the harness for each iteration that is kept;
    `checkpoints/` what a resumed run needs; `best/` the model of the highest held-out success,
    `final/` the last one.

    Args:
        path: of the directory; is made, or belongs to a run of the same recipe.
        recipe: of the run; None for a run that is over, which is not checked.

    Raises:
        UserError: if it belongs to something else.
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
    def held(self) -> Iterator[None]:
        """Keep other writers out.

        Raises:
            UserError: if another process is writing.
        """
        try:
            with FileLock(self.path / ".lock", timeout=0):
                yield
        except Timeout:
            raise UserError(f"{self.path} is being written by another process", 1) from None

    def resume(self, driver: str) -> tuple[int, Path] | None:
        """Return the next iteration and the checkpoint before it, and drop what came after it.

        Without a checkpoint the run begins anew, and None is returned.

        Args:
            driver: that goes on.

        Raises:
            UserError: if another one wrote the checkpoint.
        """
        checkpoints, done = _checkpoints(self.path), iterations_done(self.path)
        if checkpoints:
            self._refuse_other(checkpoints[done], driver)
        for name in ("metrics.jsonl", "timings.jsonl", "warnings.jsonl", "failures.jsonl"):
            kept = [line for line in self.lines(name) if line["iteration"] < done]
            write_text(self.path / name, "".join(f"{line_of(line).decode()}\n" for line in kept))
        for number, folder in _iterations(self.path / "rollouts").items():
            if number >= done:
                shutil.rmtree(folder)
        return (done, checkpoints[done]) if checkpoints else None

    def rollouts(self, number: int) -> Path:
        """Return the folder of an iteration's rollouts, whether or not they are kept."""
        return self.path / "rollouts" / _name(number)

    @contextmanager
    def checkpoint(self, done: int, driver: str) -> Iterator[Path]:
        """Give an empty folder to write a checkpoint to, and keep it and the one before alone.

        Args:
            done: iterations.
            driver: that writes it.
        """
        with replacing_folder(self.path / "checkpoints" / _name(done)) as draft:
            yield draft
            (draft / _DRIVER).write_text(driver + "\n", encoding="utf-8")
        checkpoints = _checkpoints(self.path)
        kept = {checkpoints[number] for number in sorted(checkpoints)[-2:]}
        for folder in set((self.path / "checkpoints").iterdir()) - kept:
            shutil.rmtree(folder)

    def keep_start(self, figures: Mapping[str, float]) -> None:
        """Keep the held-out figures of the model that training begins with."""
        write_whole(self.path / _START, dict(figures))

    def start(self) -> dict[str, float]:
        """Return what `keep_start` was given, nothing if it was not called."""
        file = self.path / _START
        return read_whole(file) if file.exists() else {}

    def append(self, name: str, line: dict[str, Any]) -> None:
        """Add a line to a file of lines.

        Raises:
            UserError: if the file cannot be written.
        """
        append(self.path / name, line)

    def lines(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the whole lines of a file; a torn last one is passed over."""
        for _, line in numbered(self.path / name):
            yield line

    def _refuse_other(self, checkpoint: Path, driver: str) -> None:
        file = checkpoint / _DRIVER
        there = file.read_text(encoding="utf-8").strip() if file.exists() else "(another version)"
        if there != driver:
            raise UserError(
                f"{self.path} was begun by ragen-train {there}; go on with that, or choose "
                "another --out"
            )


def check_run(path: Path, recipe: Recipe) -> None:
    """Check that a directory can be that of a recipe's run; change nothing.

    Args:
        path: of the directory, which need not be there.
        recipe: of the run.

    Raises:
        UserError: if it belongs to something else, or cannot be made, or if there is no such reward
            of the user's own.
    """
    check_place(path)
    settings = _settings(recipe)
    if not (path / _RECIPE).exists():
        if path.exists() and any(path.iterdir()):
            raise UserError(
                f"{path} holds something else than a training run; choose another --out"
            )
        return
    there = read_whole(path / _RECIPE)
    acts = recipe.monitor.action != "none"
    different = first_difference(_learned(there, acts), _learned(settings, acts), "recipe")
    if different:
        raise UserError(f"{path} is a run of another recipe ({different}); choose another --out")
    done = iterations_done(path)
    if done > recipe.iterations:
        raise UserError(
            f"{path} has {done} iterations already; give iterations={done} or more, or choose "
            "another --out"
        )


def finished(path: Path, iterations: int) -> bool:
    """Return whether the directory of a run has all of its iterations.

    The last checkpoint is written after all else.

    Args:
        path: of the directory, which need not be there.
        iterations: of the run.
    """
    if iterations not in _checkpoints(path) or not (path / "final").is_dir():
        return False
    # A run that a warning ended has more lines than its last checkpoint.
    return (path / "metrics.jsonl").read_bytes().count(b"\n") == iterations


def iterations_done(path: Path) -> int:
    """Return after how many iterations a run goes on: those of its latest checkpoint, or 0.

    Args:
        path: of the run's directory, which need not be there.
    """
    return max(_checkpoints(path), default=0)


def _checkpoints(path: Path) -> dict[int, Path]:
    """Return a run's checkpoints by how many iterations are done."""
    return _iterations(path / "checkpoints")


def _iterations(path: Path) -> dict[int, Path]:
    """Return the folders of a folder that have the name of an iteration, by its number."""
    folders = path.glob(_name(0).replace("0", "[0-9]"))
    return {int(folder.name.partition("_")[2]): folder for folder in folders}


def _name(number: int) -> str:
    return f"iteration_{number:06d}"


def _settings(recipe: Recipe) -> dict[str, Any]:
    settings = {"schema": _SCHEMA, **json.loads(json.dumps(recipe.as_json()))}
    if recipe.shaping.python:
        settings["shaping"] |= OwnReward(recipe.shaping.python).identity()
    return settings


def _learned(settings: Mapping[str, Any], acts: bool) -> dict[str, Any]:
    """Return the settings that a run's weights depend on.

    They are the same with more iterations, another name, other rollouts kept or figures measured;
    but a monitor that acts watches the figures of thoughts.

    Args:
        settings: of a recipe; an old record has no table of diagnostics.
        acts: whether the monitor does.
    """
    thoughts = settings.get("diagnostics", {}).get("thoughts", 0) if acts else 0
    free = {"iterations": 0, "name": "", "records": {}, "diagnostics": {"thoughts": thoughts}}
    return {**settings, **free}
