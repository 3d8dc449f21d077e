"""Reruns of entries by maintainers: `reproductions/ENTRY.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.reproduce import reproduction
from ragen_bench.leaderboard.schema import Entry
from ragen_bench.leaderboard.strict_json import BadJsonError, parse
from ragen_bench.runs.differences import brief, first_difference
from ragen_bench.runs.schema import Object

_MOST_BYTES = 1 << 20


def reproduction_of(name: str, entry: Entry, directory: Path) -> Object | None:
    """Return the rerun of an entry as `reproduce` wrote it, None if there is no file.

    The intervals in it are compared with the entry's and with each other anew; the rerun itself
    is the maintainer's word.

    Args:
        name: the name of the entry's directory.
        entry: the content of entry.json, with figures that are numbers.
        directory: the directory of the files.

    Raises:
        EntryError: if the file belongs to another entry, or disagrees with its own intervals.
    """
    file = directory / f"{name}.json"
    if not file.is_file():
        return None
    try:
        with file.open("rb") as data:
            content: Any = parse(data.read(_MOST_BYTES))
        _check_entry(content, name, entry)
        summary = entry.summary.as_json()
        rerun = reproduction(summary, _rerun(content, summary))
    except (BadJsonError, EntryError) as error:
        raise EntryError(f"reproductions/{file.name} {error}") from None
    different = first_difference(content, rerun)
    if different:
        raise EntryError(f"reproductions/{file.name} {different}")
    return {**rerun, **{key: content[key] for key in ("model", "seed")}}


def _check_entry(content: Any, name: str, entry: Entry) -> None:
    if not isinstance(content, dict):
        raise EntryError("is not an object")
    for key, known in (("entry", name), ("episodes_sha256", entry.episodes_sha256)):
        if content.get(key) != known:
            raise EntryError(f"{key}: is of {brief(content.get(key))}, the entry is {brief(known)}")
    if not isinstance(content.get("model"), str) or type(content.get("seed")) is not int:
        raise EntryError("does not say of which model and seed")
    if content["seed"] == entry.run.seed:
        raise EntryError("seed: is the entry's own")
    if entry.summary.suite_score_interval is None:
        raise EntryError("is of an entry without a suite score")


def _rerun(content: Object, summary: Object) -> Object:
    """Return the scores of the rerun, shaped as a summary."""
    envs, known = content.get("envs"), [row["env"] for row in summary["envs"]]
    if not isinstance(envs, list) or not all(isinstance(env, dict) for env in envs):
        raise EntryError("envs: is not a list of objects")
    if [env.get("env") for env in envs] != known:
        raise EntryError("envs: are not those of the entry")
    suite = content.get("suite")
    if not isinstance(suite, dict):
        raise EntryError("suite: is not an object")
    return {
        "suite_score": _number(suite.get("rerun")),
        "suite_score_interval": _interval(suite.get("rerun_interval")),
        "envs": [
            {
                "env": env["env"],
                "score": _number(env.get("rerun")),
                "score_interval": _interval(env.get("rerun_interval")),
            }
            for env in envs
        ],
    }


def _interval(value: Any) -> list[float]:
    if not isinstance(value, list) or len(value) != 2:
        raise EntryError(f"rerun_interval: {brief(value)} is not an interval")
    return [_number(bound) for bound in value]


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise EntryError(f"rerun: {brief(value)} is not a number")
    return value
