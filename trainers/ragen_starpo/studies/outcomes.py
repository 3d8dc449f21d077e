"""The outcomes of a study's runs: their metrics, or why they have none."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.runs.directory import read_run
from ragen_bench.runs.json_lines import read_whole
from ragen_starpo.commands import is_finished
from ragen_starpo.report import read_training_run
from ragen_starpo.studies.jobs import BEFORE, FAILED, RUN, TEST, model_name, run_name
from ragen_starpo.studies.run_metrics import (
    ANALYSIS,
    RunMetrics,
    compare_failures,
    measure_thoughts,
    measure_training,
)
from ragen_starpo.studies.study import Scale, Study

Curves: TypeAlias = dict[str, list[tuple[int, float]]]
ByInstance: TypeAlias = dict[str, list[float]]
"""Success rates of the test instances, by environment."""


@dataclass(frozen=True)
class Outcome:
    """A run of a study.

    Attributes:
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
    curves: Curves = field(default_factory=dict)
    test: ByInstance = field(default_factory=dict)
    gains: ByInstance = field(default_factory=dict)

    def as_json(self) -> JsonObject:
        """Return the outcome as in `study.json`, without curves; `test`, `gains` are means."""
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
    def from_json(cls, run: JsonObject) -> Outcome:
        """Return the outcome of `as_json`; older files have no `by_instance`."""
        given = {name: run[name] for name in ("arm", "seed", "folder", "problem", "figures")}
        by_instance = run.get("by_instance", {"test": {}, "gains": {}})
        return cls(**given, test=by_instance["test"], gains=by_instance["gains"])


def read_outcome(folder: Path, study: Study, arm: str, seed: int) -> Outcome:
    """Return the outcome of the run of an arm and seed in a study's folder."""
    name = run_name(arm, seed)
    place = folder / name
    try:
        if _failure(place) or not is_finished(place):
            model = model_name(study.arms[arm].model, seed)
            of_model = _failure(folder / model)
            why = _failure(place) or (f"{model}: {of_model}" if of_model else "not finished")
            return Outcome(arm, seed, name, why)
        run, analysis = read_training_run(place / RUN), place / TEST / ANALYSIS
        test = _test_success(place / TEST) if study.test_instances else {}
        before = _test_success(place / BEFORE) if (place / BEFORE).exists() else {}
        start = {"test_start": fmean(map(fmean, before.values()))} if before else {}
        metrics = {
            **measure_training(run, study.target),
            **start,
            **measure_thoughts(place),
            **(compare_failures(read_whole(analysis)["envs"]) if analysis.exists() else {}),
        }
        gains = {
            env: [last - first for first, last in zip(values, test[env], strict=True)]
            for env, values in before.items()
        }
        curves: Curves = {}
        # Held-out success before the first iteration stands at -1, so that a curve begins with it.
        for line in [{"iteration": -1, **run.start}, *run.metrics]:
            for metric, value in line.items():
                if metric != "iteration" and isinstance(value, int | float):
                    curves.setdefault(metric, []).append((line["iteration"], float(value)))
    except UserError as error:
        return Outcome(arm, seed, name, str(error))
    return Outcome(arm, seed, name, "", metrics, curves, test, gains)


def _failure(place: Path) -> str:
    """Return why a job failed; empty if it did not."""
    file = place / FAILED
    return file.read_text(encoding="utf-8").strip() if file.exists() else ""


def _test_success(folder: Path) -> ByInstance:
    # The texts of thousands of episodes need not fit into memory.
    success: dict[str, dict[int, list[float]]] = {}
    for episode in read_run(folder).episodes():
        if episode.success is None:
            return {}
        by_index = success.setdefault(episode.env, {})
        by_index.setdefault(episode.index, []).append(float(episode.success))
    return {
        env: [fmean(by_index[index]) for index in sorted(by_index)]
        for env, by_index in success.items()
    }


Band: TypeAlias = list[list[float]]
"""Iteration, mean, lowest and highest value, for each iteration that all runs have."""
_ADVICE = "name the study.json of a study"


@dataclass(frozen=True)
class EarlierRuns:
    """The finished runs of a `study.json`, which are judged together with those of a folder.

    The outcomes, without curves, are by the runs' folders relative to the study's, and the bands by
    arm and metric. The hash of the file is empty without a file.
    """

    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    bands: Mapping[str, Mapping[str, Band]] = field(default_factory=dict)
    sha256: str = ""

    def count_seeds(self, study: Study) -> int:
        """Return the number of seeds up to the highest that has a run here."""
        return max((run.seed + 1 - study.first_seed for run in self.outcomes.values()), default=0)


def read_earlier_runs(file: Path, study: Study, scale: Scale) -> EarlierRuns:
    """Return the finished runs of a `study.json` of the same study; its number of seeds may differ.

    A UserError is raised if the file cannot be read, is of another study, or is too old to hold
    success by instance where the study tests it.
    """
    try:
        content = read_whole(file, _ADVICE)
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}; {_ADVICE}") from None
    types = {"study": dict, "scale": str, "runs": list, "arms": list, "schema": int}
    if not all(isinstance(content.get(name), type_) for name, type_ in types.items()):
        raise UserError(f"{file} is not the result of a study; {_ADVICE}")
    if content["scale"] != scale or _rules(content["study"]) != _rules(asdict(study)):
        raise UserError(
            f"{file} is of another study, or of an older version of this one; only its seeds may "
            "differ"
        )
    if study.test_instances and not all("by_instance" in run for run in content["runs"]):
        raise UserError(
            f"{file} has no success by instance, which {study.name} tests; run all seeds into one "
            "--out"
        )
    try:
        runs = [Outcome.from_json(run) for run in content["runs"] if not run["problem"]]
        bands = {arm["name"]: arm["curves"] for arm in content["arms"]}
    except (KeyError, TypeError):
        raise UserError(f"{file} is not the result of a study; {_ADVICE}") from None
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    return EarlierRuns({run_name(run.arm, run.seed): run for run in runs}, bands, sha256)


def _rules(study: JsonObject) -> JsonObject:
    """Return a study in JSON types, without its number of seeds."""
    return {name: value for name, value in json.loads(json.dumps(study)).items() if name != "seeds"}
