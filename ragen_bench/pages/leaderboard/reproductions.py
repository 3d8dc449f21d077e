"""Reads maintainers' reruns of entries: `reproductions/ENTRY.json`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter

from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.reproduce import compare_rerun
from ragen_bench.leaderboard.schema import Entry, Figure, Interval, read_as
from ragen_bench.leaderboard.strict_json import BadJsonError, parse
from ragen_bench.runs.differences import brief, first_difference
from ragen_bench.runs.schema import RunDraw, Text, Whole

_MAX_BYTES = 1 << 20


def read_reproduction(name: str, entry: Entry, directory: Path) -> JsonObject | None:
    """Read the rerun of an entry, as `reproduce` wrote it; None without a file.

    The comparison of intervals is recomputed; the rerun's values are trusted.

    Args:
        name: Directory name of the entry.
        entry: Content of entry.json.
        directory: Directory of the reruns.

    Raises:
        EntryError: if the file belongs to another entry, or disagrees with its own intervals.
    """
    file = directory / f"{name}.json"
    if not file.is_file():
        return None
    try:
        with file.open("rb") as data:
            content = parse(data.read(_MAX_BYTES))
        rerun = read_as(_RERUN.validate_python, content)
        _check_entry(rerun, name, entry)
        compared = compare_rerun(entry.summary.as_json(), rerun.summary())
    except (BadJsonError, EntryError) as error:
        raise EntryError(f"reproductions/{file.name} {error}") from None
    if difference := first_difference(content, compared):
        raise EntryError(f"reproductions/{file.name} {difference}")
    draw = rerun.draw.as_json() if entry.run.draw and rerun.draw else None
    return {**compared, "model": rerun.model, "seed": rerun.seed, "draw": draw}


@dataclass
class _Score:
    score: Annotated[Figure, Field(alias="rerun")]
    score_interval: Annotated[Interval, Field(alias="rerun_interval")]


@dataclass
class _EnvScore(_Score):
    env: Text


@dataclass
class _Rerun:
    entry: Text
    episodes_sha256: Text
    model: Text
    seed: Whole
    suite: _Score
    envs: list[_EnvScore]
    draw: RunDraw | None = None

    def summary(self) -> JsonObject:
        """Return the scores, shaped as a summary."""
        return {
            "suite_score": self.suite.score,
            "suite_score_interval": self.suite.score_interval,
            "envs": [asdict(env) for env in self.envs],
        }


def _check_entry(rerun: _Rerun, name: str, entry: Entry) -> None:
    for key, recorded, known in (
        ("entry", rerun.entry, name),
        ("episodes_sha256", rerun.episodes_sha256, entry.episodes_sha256),
    ):
        if recorded != known:
            raise EntryError(f"{key}: is of {brief(recorded)}, the entry is {brief(known)}")
    if entry.run.draw and (
        rerun.draw is None
        or rerun.draw.value == entry.run.draw.value
        or rerun.draw.commitment != entry.run.draw.commitment
    ):
        raise EntryError("draw: is the entry's own, another entry's, or not there")
    if rerun.seed == entry.run.seed:
        raise EntryError("seed: is the entry's own")
    if entry.summary.suite_score_interval is None:
        raise EntryError("is of an entry without a suite score")
    if [env.env for env in rerun.envs] != [env.env for env in entry.summary.envs]:
        raise EntryError("envs: are not those of the entry")


_RERUN = TypeAdapter(_Rerun)
