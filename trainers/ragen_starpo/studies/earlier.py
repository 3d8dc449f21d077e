"""Runs of a study that an earlier `study.json` reports."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from ragen_bench.errors import UserError
from ragen_bench.runs.json_lines import read_whole
from ragen_starpo.studies.jobs import run_name
from ragen_starpo.studies.outcomes import Outcome
from ragen_starpo.studies.study import Scale, Study

Band: TypeAlias = list[list[float]]
"""Iteration, mean, lowest and highest value, for each iteration that all runs have."""
_ADVICE = "name the study.json of a study"


@dataclass(frozen=True)
class EarlierRuns:
    """The finished runs of a `study.json`, which are judged together with those of a folder.

    Attributes:
        outcomes: Outcomes without curves, by the runs' folders relative to the study's.
        bands: Bands of these runs, by arm and metric.
        sha256: Hash of the file; empty without a file.
    """

    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    bands: Mapping[str, Mapping[str, Band]] = field(default_factory=dict)
    sha256: str = ""

    def count_seeds(self, study: Study) -> int:
        """Return the number of seeds up to the highest that has a run here."""
        return max((run.seed + 1 - study.first_seed for run in self.outcomes.values()), default=0)

    def count_runs(self, arm: str) -> int:
        """Return the number of runs of an arm."""
        return sum(run.arm == arm for run in self.outcomes.values())


def read_earlier_runs(file: Path, study: Study, scale: Scale) -> EarlierRuns:
    """Return the finished runs of a `study.json`.

    Args:
        file: File of the same study; it may have another number of seeds.
        study: The study.
        scale: Scale of its recipes.

    Raises:
        UserError: The file cannot be read, is of another study, or is too old to hold success by
            instance where the study tests it.
    """
    content = _read_content(file)
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


def _read_content(file: Path) -> dict[str, Any]:
    try:
        content = read_whole(file, _ADVICE)
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}; {_ADVICE}") from None
    types = {"study": dict, "scale": str, "runs": list, "arms": list, "schema": int}
    if not all(isinstance(content.get(name), type_) for name, type_ in types.items()):
        raise UserError(f"{file} is not the result of a study; {_ADVICE}")
    return content


def _rules(study: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a study in JSON types, without its number of seeds."""
    return {name: value for name, value in json.loads(json.dumps(study)).items() if name != "seeds"}
