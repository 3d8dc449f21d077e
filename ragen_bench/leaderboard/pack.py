"""Packs a finished run as an entry of the leaderboard."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.announcements import FindDraw, check_draw, find_draws_near
from ragen_bench.leaderboard.episodes import EpisodeCheck
from ragen_bench.leaderboard.files import ENTRY_JSON, EPISODES, check_directory_name, write_packed
from ragen_bench.leaderboard.rules import explain_refusal
from ragen_bench.leaderboard.schema import SCHEMA, parse_entry, read_statement
from ragen_bench.leaderboard.strict_json import ENTRY_JSON_BYTES, BadJsonError, EntryError, parse
from ragen_bench.runs.atomic import lock_folder
from ragen_bench.runs.directory import RunDirectory, read_run
from ragen_bench.runs.json_lines import to_line
from ragen_bench.runs.specification import config_differences
from ragen_bench.scores.cost import Prices
from ragen_bench.scores.summary import compute_summary
from ragen_envs.core.folders import replacing_folder


@dataclass(frozen=True)
class About:
    """The submitter's statements about an entry, see `ragen_bench.leaderboard.schema.Statement`."""

    name: str
    submitter: str
    contact: str | None = None
    link: str | None = None
    parameters: int | None = None
    open_weights: bool | None = None
    date: str | None = None


def make_entry_name(name: str, suite: str, split: str) -> str:
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
) -> JsonObject:
    """Write a run as an entry, after the checks that `verify` will make.

    The same run and statements give the same bytes, with the same zlib.

    Args:
        path: Run directory.
        out: Directory of the entry, which must not exist.
        about: Statements of the submitter.
        prices: Prices of tokens.
        progress: Called with the numbers of replayed and of planned episodes.
        draws: Lookup of draws; None for the leaderboard that contains `out`.

    Returns:
        The content of entry.json.

    Raises:
        UserError: if the run cannot be an entry.
    """
    _refuse_existing(out)
    try:
        check_directory_name(out.absolute().name)
    except EntryError as error:
        raise UserError(f"{out} {error}; choose another --out") from None
    try:
        read_statement(asdict(about))
    except EntryError as error:
        raise UserError(str(error)) from None
    run = read_submittable_run(path)
    try:
        check_draw(run.config, draws or find_draws_near(out))
    except EntryError as error:
        raise UserError(f"{path}: {error.args[0]}", exit_code=1) from None
    with lock_folder(out), replacing_folder(out) as draft:
        digest, length = _write_episodes(run, draft / EPISODES, progress)
        entry = {
            "schema": SCHEMA,
            **asdict(about),
            "ragen_version": version("ragen-bench"),
            "episodes_sha256": digest,
            "episodes_bytes": length,
            "run": run.config.as_json(),
            "summary": compute_summary(run.config, run.episodes(), run.seconds(), prices=prices),
        }
        _write_entry(entry, draft / ENTRY_JSON)
        _refuse_existing(out)  # the replay may have taken hours
    return entry


def _refuse_existing(out: Path) -> None:
    if out.exists() or out.is_symlink():
        raise UserError(f"{out} exists already; choose another --out")


def read_submittable_run(path: Path) -> RunDirectory:
    """Read a run that may be an entry; another one raises UserError."""
    run = read_run(path)
    if refusal := explain_refusal(run.config):
        raise UserError(f"{path}: {refusal}", exit_code=1)
    recorded = {episode.key for episode in run.episodes()}
    faults = {fault.key for fault in run.faults()} - recorded
    planned = run.config.planned
    if faults:
        raise UserError(
            f"{path}: {len(faults)} episodes failed at the server, see faults.jsonl; repeat "
            "the command of the run, with --on-error fail if they fail again",
            exit_code=1,
        )
    if len(recorded) < planned:
        raise UserError(
            f"{path}: {len(recorded)} of {planned} episodes are recorded; repeat the command "
            "of the run to complete it",
            exit_code=1,
        )
    for difference in config_differences(run.config):
        raise UserError(
            f"{path}: the run is of another version of ragen-bench ({difference}); evaluate "
            "with this one",
            exit_code=1,
        )
    return run


def _write_episodes(
    run: RunDirectory, file: Path, progress: Callable[[int, int], None]
) -> tuple[str, int]:
    check = EpisodeCheck(run.config)
    lines = (to_line(line) for line, _ in run.recorded())
    try:
        episodes = check.check_lines(lines, lambda number: progress(number, check.planned))
        digest, length = write_packed(file, (episode.as_json() for episode in episodes))
    except EntryError as error:
        raise UserError(f"{run.path}: {error}; the run cannot be sent", exit_code=1) from None
    if check.problems:
        raise UserError(f"{run.path}: {check.problems[0]}; `verify` would refuse it", exit_code=1)
    return digest, length


def _write_entry(entry: JsonObject, file: Path) -> None:
    try:
        parse_entry(entry)
        data = (json.dumps(entry, indent=2, ensure_ascii=False) + "\n").encode()
        parse(data)  # `verify` is stricter than the writer of runs
    except BadJsonError as error:
        raise UserError(f"the run cannot be sent: {file.name} {error}", exit_code=1) from None
    except EntryError as error:
        raise UserError(f"the run cannot be sent: {error}", exit_code=1) from None
    if len(data) > ENTRY_JSON_BYTES:
        raise UserError(
            f"the run cannot be sent: {file.name} would have {len(data):,} bytes", exit_code=1
        )
    file.write_bytes(data)
