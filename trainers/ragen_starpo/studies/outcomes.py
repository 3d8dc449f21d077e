"""The outcome of one run of a study: its metrics, or why it has none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias

from ragen_bench.errors import UserError
from ragen_bench.runs.directory import read_run
from ragen_starpo.commands import is_finished
from ragen_starpo.report.reading import TrainingRun, read_training_run
from ragen_starpo.studies.jobs import BEFORE, RUN, TEST, model_name, run_name
from ragen_starpo.studies.run_metrics import (
    RunMetrics,
    measure_failures,
    measure_thoughts,
    measure_training,
)
from ragen_starpo.studies.study import Study

ByInstance: TypeAlias = dict[str, list[float]]
"""Success rates of the test instances, by environment."""
FAILED = "failed.txt"
"""File in a run's folder with the reason why its last command failed."""


@dataclass(frozen=True)
class Outcome:
    """A run of a study.

    Attributes:
        arm: Name of the arm.
        seed: Seed of the run.
        folder: Folder of the run, relative to the study's.
        problem: Reason that the run has no metrics; empty for a finished run.
        figures: Metrics by name, None where the run has no value: those of
            `ragen_starpo.studies.run_metrics`, and `test_start`, the first model's success on the
            test split, averaged over environments.
        curves: By training metric, its iterations and values.
        test: Success of the last model on each test instance. Empty if an environment reports no
            success.
        gains: Success of the last model less that of the first, if the first was tested.
    """

    arm: str
    seed: int
    folder: str
    problem: str = ""
    figures: RunMetrics = field(default_factory=dict)
    curves: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    test: ByInstance = field(default_factory=dict)
    gains: ByInstance = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the outcome as `study.json` stores it, without its curves.

        `test` and `gains` are means by environment; `by_instance` has them in full.
        """
        return {
            "arm": self.arm,
            "seed": self.seed,
            "folder": self.folder,
            "problem": self.problem,
            "figures": self.figures,
            "test": {env: fmean(values) for env, values in self.test.items()},
            "gains": {env: fmean(values) for env, values in self.gains.items()},
            "by_instance": {"test": self.test, "gains": self.gains},
        }

    @classmethod
    def from_json(cls, run: Mapping[str, Any]) -> Outcome:
        """Return the outcome that `as_json` wrote.

        Older files have no `by_instance`, so `test` and `gains` are empty.
        """
        given = {name: run[name] for name in ("arm", "seed", "folder", "problem", "figures")}
        by_instance = run.get("by_instance", {"test": {}, "gains": {}})
        return cls(**given, test=by_instance["test"], gains=by_instance["gains"])


def read_outcome(folder: Path, study: Study, arm: str, seed: int) -> Outcome:
    """Return the outcome of a run.

    Args:
        folder: Folder of the study.
        study: The study.
        arm: Name of the run's arm.
        seed: Seed of the run.
    """
    name = run_name(arm, seed)
    place = folder / name
    try:
        if _failure(place) or not is_finished(place):
            model = model_name(study.arms[arm].model, seed)
            of_model = _failure(folder / model)
            why = _failure(place) or (f"{model}: {of_model}" if of_model else "not finished")
            return Outcome(arm, seed, name, why)
        run = read_training_run(place / RUN)
        test = _test_success(place / TEST) if study.test_instances else {}
        before = _test_success(place / BEFORE) if (place / BEFORE).exists() else {}
        start = {"test_start": fmean(map(fmean, before.values()))} if before else {}
        metrics = {
            **measure_training(run, study.target),
            **start,
            **measure_thoughts(place),
            **measure_failures(place),
        }
        gains = {
            env: [last - first for first, last in zip(values, test[env], strict=True)]
            for env, values in before.items()
        }
    except UserError as error:
        return Outcome(arm, seed, name, str(error))
    return Outcome(arm, seed, name, "", metrics, _curves(run), test, gains)


def _failure(place: Path) -> str:
    """Return why a job failed; empty if it did not."""
    file = place / FAILED
    return file.read_text(encoding="utf-8").strip() if file.exists() else ""


def _curves(run: TrainingRun) -> dict[str, list[tuple[int, float]]]:
    curves: dict[str, list[tuple[int, float]]] = {}
    # Held-out success before the first iteration stands at -1, so that a curve begins with it.
    for line in [{"iteration": -1, **run.start}, *run.metrics]:
        for name, value in line.items():
            if name != "iteration" and isinstance(value, int | float):
                curves.setdefault(name, []).append((line["iteration"], float(value)))
    return curves


def _test_success(folder: Path) -> ByInstance:
    outcomes: dict[str, dict[int, list[float]]] = {}
    for episode in read_run(folder).episodes():
        if episode.success is None:
            return {}
        by_index = outcomes.setdefault(episode.env, {})
        by_index.setdefault(episode.index, []).append(float(episode.success))
    return {
        env: [fmean(by_index[index]) for index in sorted(by_index)]
        for env, by_index in outcomes.items()
    }
