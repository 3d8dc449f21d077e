"""Runs of a study that were played elsewhere, as its `study.json` tells of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError
from ragen_bench.runs.json_lines import read_whole
from ragen_starpo.studies.bands import Band
from ragen_starpo.studies.jobs import run_name
from ragen_starpo.studies.outcomes import Outcome, from_json
from ragen_starpo.studies.study import Scale, Study

_WHAT = "name the study.json of a study"


@dataclass(frozen=True)
class Earlier:
    """The finished runs of a `study.json`, which are judged together with those of a folder.

    Attributes:
        outcomes: by the folders of the runs, from the study's; without curves.
        bands: of these runs, by arm and figure, see `ragen_starpo.studies.bands`.
        sha256: of the file; empty where there is none.
    """

    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    bands: Mapping[str, Mapping[str, Band]] = field(default_factory=dict)
    sha256: str = ""

    def seeds(self, study: Study) -> int:
        """Return how many seeds have a run here, to the highest."""
        return max((run.seed + 1 - study.first_seed for run in self.outcomes.values()), default=0)

    def of_arm(self, arm: str) -> int:
        """Return how many runs of an arm there are."""
        return sum(run.arm == arm for run in self.outcomes.values())


def read_earlier(file: Path, study: Study, scale: Scale) -> Earlier:
    """Return the finished runs that a `study.json` tells of.

    Args:
        file: of the same study; the number of its seeds may be another.
        study: that is run.
        scale: of its recipes.

    Raises:
        UserError: if the file cannot be read or is that of another study, or is of a time when it
            did not hold success by instance.
    """
    content = _content(file)
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
        runs = [from_json(run) for run in content["runs"] if not run["problem"]]
        bands = {arm["name"]: arm["curves"] for arm in content["arms"]}
    except (KeyError, TypeError):
        raise UserError(f"{file} is not the result of a study; {_WHAT}") from None
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    return Earlier({run_name(run.arm, run.seed): run for run in runs}, bands, sha256)


def _content(file: Path) -> dict[str, Any]:
    try:
        content = read_whole(file, _WHAT)
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}; {_WHAT}") from None
    of_study = {"study": dict, "scale": str, "runs": list, "arms": list, "schema": int}
    if not all(isinstance(content.get(name), type_) for name, type_ in of_study.items()):
        raise UserError(f"{file} is not the result of a study; {_WHAT}")
    return content


def _rules(study: Mapping[str, Any]) -> Any:
    """Return a study as its JSON has it, without the number of its seeds."""
    return {name: value for name, value in json.loads(json.dumps(study)).items() if name != "seeds"}
