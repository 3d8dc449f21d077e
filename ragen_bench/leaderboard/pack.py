"""From a finished run to an entry of the leaderboard."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.leaderboard.draws import FindDraw, check_draw, draws_beside
from ragen_bench.leaderboard.episodes import EpisodeCheck
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.files import ENTRY_JSON, EPISODES, check_directory_name
from ragen_bench.leaderboard.limits import ENTRY_JSON_BYTES
from ragen_bench.leaderboard.packed import write_packed
from ragen_bench.leaderboard.rules import refusal
from ragen_bench.leaderboard.schema import SCHEMA, checked_entry, read_statement
from ragen_bench.leaderboard.strict_json import BadJsonError, parse
from ragen_bench.runs.atomic import alone, replacing_folder
from ragen_bench.runs.config_check import config_differences
from ragen_bench.runs.directory import RunDirectory, read_run
from ragen_bench.runs.json_lines import line_of
from ragen_bench.runs.schema import Object
from ragen_bench.scores.cost import Prices
from ragen_bench.scores.summary import summary_of


@dataclass(frozen=True)
class About:
    """What the submitter says.

    Attributes:
        name: of the model, as the table shows it.
        submitter: who submits.
        contact: how to reach them.
        link: a page on the model.
        parameters: how many the model has.
        open_weights: whether everybody can have them.
        date: of the run, YYYY-MM-DD.
    """

    name: str
    submitter: str
    contact: str | None = None
    link: str | None = None
    parameters: int | None = None
    open_weights: bool | None = None
    date: str | None = None


def entry_name(name: str, suite: str, split: str) -> str:
    """Return a directory name for a model's entry, which `verify` accepts."""
    plain = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")
    return f"{plain[:60] or 'model'}_{suite}_{split}"


def pack(
    path: Path,
    out: Path,
    about: About,
    prices: Prices | None = None,
    progress: Callable[[int, int], None] = lambda *_: None,
    draws: FindDraw | None = None,
) -> Object:
    """Write a run as an entry, after the checks that `verify` will make.

    The same run and the same words give the same bytes, with the same zlib.

    Args:
        path: the run directory.
        out: the entry's directory, which must not exist.
        about: what the submitter says.
        prices: what tokens cost.
        progress: called with the number of replayed and of planned episodes.
        draws: where the draws are; None for those of the leaderboard that `out` lies in.

    Returns:
        The content of entry.json.

    Raises:
        UserError: if the run cannot be an entry, with what to do.
    """
    _refuse_taken(out)
    try:
        check_directory_name(out.absolute().name)
    except EntryError as error:
        raise UserError(f"{out} {error}; choose another --out") from None
    try:
        read_statement(asdict(about))
    except EntryError as error:
        raise UserError(str(error)) from None
    run = submittable(path)
    try:
        check_draw(run.config, draws or draws_beside(out))
    except EntryError as error:
        raise UserError(f"{path}: {error.args[0]}", exit_code=1) from None
    with alone(out), replacing_folder(out) as draft:
        digest, length = _write_episodes(run, draft / EPISODES, progress)
        entry = {
            "schema": SCHEMA,
            **asdict(about),
            "ragen_version": version("ragen-bench"),
            "episodes_sha256": digest,
            "episodes_bytes": length,
            "run": run.config.as_json(),
            "summary": summary_of(run.config, run.episodes(), run.seconds(), prices=prices),
        }
        _write_entry(entry, draft / ENTRY_JSON)
        _refuse_taken(out)  # the replay may have taken hours
    return entry


def _refuse_taken(out: Path) -> None:
    if out.exists() or out.is_symlink():
        raise UserError(f"{out} is there already; choose another --out")


def submittable(path: Path) -> RunDirectory:
    """Return a run that may be an entry.

    Raises:
        UserError: if it may not, with what to do.
    """
    run = read_run(path)
    refused = refusal(run.config)
    if refused:
        raise UserError(f"{path}: {refused}", exit_code=1)
    played = {episode.key for episode in run.episodes()}
    faults = {fault.key for fault in run.faults()} - played
    planned = run.config.planned
    if faults:
        raise UserError(
            f"{path}: {len(faults)} episodes were left unfinished by the server, faults.jsonl says "
            "why; the command of the run plays them anew",
            exit_code=1,
        )
    if len(played) < planned:
        raise UserError(
            f"{path}: {len(played)} of {planned} episodes are there; the command of the run goes "
            "on from there",
            exit_code=1,
        )
    for different in config_differences(run.config):
        raise UserError(
            f"{path}: the run is of another version of ragen-bench ({different}); evaluate with "
            "this one",
            exit_code=1,
        )
    return run


def _write_episodes(
    run: RunDirectory, file: Path, progress: Callable[[int, int], None]
) -> tuple[str, int]:
    check = EpisodeCheck(run.config)
    lines = (line_of(line) for line, _ in run.recorded())
    try:
        sound = check.sound(lines, lambda number: progress(number, check.planned))
        written = write_packed(file, (episode.as_json() for episode in sound))
    except EntryError as error:
        raise UserError(f"{run.path}: {error}; such a run cannot be sent", exit_code=1) from None
    if check.problems:
        raise UserError(
            f"{run.path}: {check.problems[0]}; `verify` would refuse it",
            exit_code=1,
        )
    return written


def _write_entry(entry: Object, file: Path) -> None:
    try:
        checked_entry(entry)
        data = (json.dumps(entry, indent=2, ensure_ascii=False) + "\n").encode()
        parse(data)  # `verify` is stricter than what wrote the run
    except EntryError as error:
        raise UserError(f"the run cannot be sent: {error}", exit_code=1) from None
    except BadJsonError as error:
        raise UserError(f"the run cannot be sent: {file.name} {error}", exit_code=1) from None
    if len(data) > ENTRY_JSON_BYTES:
        raise UserError(
            f"the run cannot be sent: {file.name} would have {len(data):,} bytes", exit_code=1
        )
    file.write_bytes(data)
