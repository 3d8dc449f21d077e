"""Verifies an entry: nothing in it is believed that can be computed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ragen_bench.leaderboard.draws import FindDraw, check_draw, draws_beside
from ragen_bench.leaderboard.episodes import EpisodeCheck
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.files import ENTRY_JSON, EPISODES, EntryFiles, opened
from ragen_bench.leaderboard.neighbours import entries_beside
from ragen_bench.leaderboard.packed import PackedEpisodes, check_sizes
from ragen_bench.leaderboard.public_lead import Scored, public_leads, scored
from ragen_bench.leaderboard.rules import apart, refusal
from ragen_bench.leaderboard.schema import Entry, checked_entry
from ragen_bench.leaderboard.strict_json import BadJsonError, parse
from ragen_bench.leaderboard.verdict import Verdict
from ragen_bench.runs.config_check import config_differences, config_problem
from ragen_bench.runs.differences import first_difference
from ragen_bench.runs.schema import EpisodeRecord, Object, RunConfig
from ragen_bench.scores.summary import summary_of

Progress = Callable[[int, int], None]
"""Called with the number of episodes that were looked at, and of all that are planned."""


def verify(
    path: Path,
    progress: Progress = lambda *_: None,
    draws: FindDraw | None = None,
    others: Iterable[Scored] | None = None,
) -> Verdict:
    """Verify an entry.

    The episodes are read as a stream: memory is bounded by the largest entry that the rules admit,
    not by what the files hold.

    Args:
        path: the directory of the entry.
        progress: called as episodes are replayed.
        draws: where the draws are; None for those of the leaderboard that the entry lies in.
        others: entries that it is compared with; None for those of that leaderboard.

    Returns:
        What was checked and found. At the first check that fails the rest is left out.

    Raises:
        UserError: if there is nothing at the path.
        SealedKeyError: if the entry is of a sealed split and there is no key.
    """
    verdict = Verdict(path.absolute().name)
    try:
        verdict.begin("files")
        with opened(path) as files:
            verdict.passed(
                f"{ENTRY_JSON} {files.entry_bytes:,} bytes, {EPISODES} {files.episodes_bytes:,}"
            )
            verdict.entry = entry = _entry(files, verdict)
            _settings(entry.run, verdict, draws or draws_beside(path))
            _figures(entry, _episodes(files, entry, verdict, progress), verdict)
            compared = entries_beside(path) if others is None else others
            verdict.signs += public_leads(scored(verdict.directory, entry), compared)
    except EntryError as error:
        verdict.failed(error.args)
    return verdict


def read_entry(path: Path, draws: FindDraw | None = None) -> Entry:
    """Return the content of entry.json if it has the form and is of a run that may be an entry.

    The episodes are not looked at, and the figures not recomputed.

    Args:
        path: the directory of the entry.
        draws: where the draws are; None for those of the leaderboard that the entry lies in.

    Raises:
        UserError: if there is nothing at the path.
        EntryError: if the entry is refused.
    """
    verdict = Verdict(path.absolute().name)
    with opened(path) as files:
        entry = _entry(files, verdict)
    _settings(entry.run, verdict, draws or draws_beside(path))
    return entry


def _entry(files: EntryFiles, verdict: Verdict) -> Entry:
    """Return entry.json, read and of the published form."""
    verdict.begin(ENTRY_JSON)
    try:
        entry = checked_entry(parse(files.entry.read(files.entry_bytes)))
    except BadJsonError as error:
        raise EntryError(str(error)) from None
    verdict.passed("has the published form")
    return entry


def _settings(config: RunConfig, verdict: Verdict, draws: FindDraw) -> None:
    """See that the run may be an entry, was announced, and that its hashes are this version's."""
    verdict.begin("run")
    problem = config_problem(config)
    if problem:
        raise EntryError(f"run {problem}")
    refused = refusal(config)
    if refused:
        raise EntryError(refused)
    differences = list(config_differences(config))
    if differences:
        raise EntryError(*differences)
    drawn = check_draw(config, draws)
    settings = apart(config)
    verdict.passed(
        f"suite {config.suite}, {config.split} split, samples {config.samples}; "
        f"{len(config.envs)} specifications, prompt and suite have the hashes of this version"
        + (f"; {drawn}" if drawn else "")
        + (f"; ranked apart: {', '.join(settings)}" if settings else "")
    )


def _episodes(
    files: EntryFiles, entry: Entry, verdict: Verdict, progress: Progress
) -> Iterator[EpisodeRecord]:
    """Yield the recomputed episodes, and judge them after the last one."""
    verdict.begin("episodes")
    check_sizes(files.episodes_bytes, entry.episodes_bytes)
    packed = PackedEpisodes(files.episodes, entry.episodes_bytes)
    check = EpisodeCheck(entry.run)
    yield from check.sound(packed.lines(), lambda number: progress(number, check.planned))
    verdict.episodes, verdict.turns = check.episodes, check.turns
    if check.problems:
        rest = f"no line behind line {check.episodes} was looked at"
        raise EntryError(*check.problems, *([rest] if check.stopped else []))
    verdict.signs = check.plausibility.signs()
    for name, recorded, computed in (
        ("episodes_bytes", entry.episodes_bytes, packed.length),
        ("episodes_sha256", entry.episodes_sha256, packed.sha256),
    ):
        difference = first_difference(recorded, computed, name)
        if difference:
            raise EntryError(difference)
    verdict.passed(
        f"{check.episodes:,} of {check.planned:,} planned, each once and in order; "
        f"{check.turns:,} answers replayed, all equal"
    )
    verdict.begin("figures")


def _figures(entry: Entry, episodes: Iterator[EpisodeRecord], verdict: Verdict) -> None:
    """Recompute the summary, floor and ceiling included, and compare."""
    computed = _computable(summary_of(entry.run, episodes, {}))
    recorded = _computable(entry.summary.as_json())
    difference = first_difference(recorded, computed, "summary")
    if difference:
        raise EntryError(difference)
    if json.dumps(recorded, sort_keys=True) != json.dumps(computed, sort_keys=True):
        raise EntryError("summary: has unknown fields, or numbers in another form")
    verdict.passed(f"recomputed, all equal; suite score {computed['suite_score']}")


def _computable(summary: Object) -> Object:
    """Return a summary without what only the submitter's clock and bill say."""
    envs = [{k: v for k, v in row.items() if k != "seconds"} for row in summary["envs"]]
    return {**{k: v for k, v in summary.items() if k != "cost"}, "envs": envs}
