"""Verifies an entry: every value that can be computed is recomputed and compared."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from ragen_bench.cache import fetch
from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.announcements import FindDraw, check_draw, find_draws_near
from ragen_bench.leaderboard.episodes import EpisodeCheck
from ragen_bench.leaderboard.files import (
    ENTRY_JSON,
    EPISODES,
    EntryFiles,
    PackedEpisodes,
    check_sizes,
    open_entry,
)
from ragen_bench.leaderboard.plausibility import (
    EntryScores,
    Sign,
    find_public_leads,
    read_local_scores,
    read_scores,
)
from ragen_bench.leaderboard.rules import explain_refusal, nondefault_settings
from ragen_bench.leaderboard.schema import Entry, parse_entry
from ragen_bench.leaderboard.strict_json import EntryError, parse
from ragen_bench.runs.differences import first_difference
from ragen_bench.runs.faults import describe_causes
from ragen_bench.runs.schema import EpisodeRecord, RunConfig
from ragen_bench.runs.specification import config_differences, config_problem
from ragen_bench.scores.summary import LATER_FIELDS, compute_summary
from ragen_envs.core.sealed import open_key

Progress = Callable[[int, int], None]
"""Called with the numbers of checked and of planned episodes."""


@dataclass(frozen=True)
class Check:
    """The finding of one check, whose name is one word."""

    name: str
    passed: bool
    message: str


@dataclass
class Verdict:
    """The result of a verification.

    Attributes:
        directory: Name of the entry's directory.
        entry: Content of entry.json, None if it does not have the published form.
        checks: Results in order. A failed check is listed once for each reason.
        episodes: Number of checked episodes.
        turns: Number of replayed turns.
        signs: Observations that make the responses less plausible. They refuse no entry.
        current: Name of the check that is being made, or "".
        summary: Recomputed summary, with the fields that an earlier version did not record.
        recalled: Whether the responses were replayed by an earlier command, see `verify`.
    """

    directory: str
    entry: Entry | None = None
    checks: list[Check] = field(default_factory=list)
    episodes: int = 0
    turns: int = 0
    signs: list[Sign] = field(default_factory=list)
    current: str = ""
    summary: JsonObject = field(default_factory=dict)
    recalled: bool = False

    @property
    def verified(self) -> bool:
        """Whether every check was made and passed."""
        return self.current == "" and all(check.passed for check in self.checks)

    @property
    def problems(self) -> list[str]:
        """Reasons to refuse the entry, each with the name of its check."""
        return [f"{check.name}: {check.message}" for check in self.checks if not check.passed]

    def begin(self, name: str) -> None:
        """Start the next check."""
        self.current = name

    def record_pass(self, message: str) -> None:
        """Record that the current check passed."""
        self.checks.append(Check(self.current, True, message))
        self.current = ""

    def recall(self, replayed: JsonObject) -> None:
        """Take over the result of an earlier replay, unless this verdict's own was made now."""
        if self.summary:
            return
        self.recalled = True
        for self.current, message in replayed["checks"].items():
            self.record_pass(message)
        self.signs = [Sign(**sign) for sign in replayed["signs"]]
        self.episodes, self.turns = replayed["episodes"], replayed["turns"]
        self.summary = replayed["summary"]

    def as_json(self) -> JsonObject:
        """Return the verdict as `verify --json` writes it."""
        entry = self.entry if self.verified else None
        return {
            "entry": self.directory,
            "verified": self.verified,
            "apart": nondefault_settings(entry.run) if entry else None,
            "suite_score": entry.summary.suite_score if entry else None,
            "episodes": self.episodes,
            "turns": self.turns,
            "checks": [
                {"name": check.name, "passed": check.passed, "said": check.message}
                for check in self.checks
            ],
            "signs": [sign.as_json() for sign in self.signs],
        }


def verify(
    path: Path,
    progress: Progress = lambda *_: None,
    draws: FindDraw | None = None,
    others: Iterable[EntryScores] | None = None,
    recall: bool = False,
) -> Verdict:
    """Verify an entry.

    The episodes are read as a stream, so memory is bounded by the limits of an entry, not by the
    content of its files.

    Args:
        path: Directory of the entry.
        progress: Called as episodes are replayed.
        draws: Lookup of draws; None for the leaderboard that contains the entry.
        others: Entries to compare with; None for those of that leaderboard.
        recall: Replay nothing if this user's cache has the result for the same bytes of the entry
            and of the packages, and the same sealed key. Only passed checks are kept there.

    Returns:
        The checks and their findings, up to the first check that fails.

    Raises:
        UserError: if the path does not exist.
        SealedKeyError: if the entry is of a sealed split and its key is missing.
    """
    verdict = Verdict(path.absolute().name)
    try:
        verdict.begin("files")
        with open_entry(path) as files:
            verdict.record_pass(
                f"{ENTRY_JSON} {files.entry_bytes:,} bytes, {EPISODES} {files.episodes_bytes:,}"
            )
            content = files.digest() if recall else ""
            verdict.entry = entry = _read_entry(files, verdict)
            _check_settings(entry.run, verdict, draws or find_draws_near(path))
            replay = partial(_replay, files, entry, verdict, progress, content)
            if recall:
                key = open_key() if entry.run.split == "sealed" else ""
                verdict.recall(fetch("verdict", [content, key], replay))
            else:
                replay()
            compared = read_local_scores(path) if others is None else others
            verdict.signs += find_public_leads(read_scores(verdict.directory, entry), compared)
    except EntryError as error:
        verdict.checks += [Check(verdict.current, False, reason) for reason in error.args]
    return verdict


def read_entry(path: Path, draws: FindDraw | None = None) -> Entry:
    """Read entry.json, and check its form and that its run may be an entry.

    The episodes are not read, and the summary is not recomputed. `draws` is as in `verify`.

    Raises:
        UserError: if the path does not exist.
        EntryError: if the entry is refused.
    """
    verdict = Verdict(path.absolute().name)
    with open_entry(path) as files:
        entry = _read_entry(files, verdict)
    _check_settings(entry.run, verdict, draws or find_draws_near(path))
    return entry


def _read_entry(files: EntryFiles, verdict: Verdict) -> Entry:
    verdict.begin(ENTRY_JSON)
    entry = parse_entry(parse(files.read_entry()))
    verdict.record_pass("has the published form")
    return entry


def _check_settings(config: RunConfig, verdict: Verdict, draws: FindDraw) -> None:
    """Check that the run may be an entry, its announcement, and its hashes."""
    verdict.begin("run")
    if problem := config_problem(config):
        raise EntryError(f"run {problem}")
    if refusal := explain_refusal(config):
        raise EntryError(refusal)
    if differences := list(config_differences(config)):
        raise EntryError(*differences)
    draw = check_draw(config, draws)
    settings = nondefault_settings(config)
    verdict.record_pass(
        f"suite {config.suite}, {config.split} split, samples {config.samples}; "
        f"{len(config.envs)} specifications, prompt and suite have the hashes of this version"
        + (f"; {draw}" if draw else "")
        + (f"; ranked separately: {', '.join(settings)}" if settings else "")
    )


def _replay(
    files: EntryFiles, entry: Entry, verdict: Verdict, progress: Progress, content: str
) -> JsonObject:
    """Check the episodes and the summary, and return what `Verdict.recall` takes."""
    before = len(verdict.checks)
    _check_summary(entry, _check_episodes(files, entry, verdict, progress), verdict)
    if content and files.digest() != content:
        verdict.begin("files")
        raise EntryError("changed while they were verified")
    return {
        "checks": {check.name: check.message for check in verdict.checks[before:]},
        "signs": [asdict(sign) for sign in verdict.signs],
        "episodes": verdict.episodes,
        "turns": verdict.turns,
        "summary": verdict.summary,
    }


def _check_episodes(
    files: EntryFiles, entry: Entry, verdict: Verdict, progress: Progress
) -> Iterator[EpisodeRecord]:
    """Yield the recomputed episodes; raise the problems after the last one."""
    verdict.begin("episodes")
    check_sizes(files.episodes_bytes, entry.episodes_bytes)
    packed = PackedEpisodes(files.episodes, entry.episodes_bytes)
    check = EpisodeCheck(entry.run)
    yield from check.check_lines(packed.lines(), lambda number: progress(number, check.planned))
    verdict.episodes, verdict.turns = check.episodes, check.turns
    if check.problems:
        rest = f"the check stopped after line {check.episodes}"
        raise EntryError(*check.problems, *([rest] if check.stopped else []))
    verdict.signs = check.plausibility.find_signs()
    for name, recorded, computed in (
        ("episodes_bytes", entry.episodes_bytes, packed.length),
        ("episodes_sha256", entry.episodes_sha256, packed.sha256),
    ):
        if difference := first_difference(recorded, computed, name):
            raise EntryError(difference)
    verdict.record_pass(
        f"{check.episodes:,} of {check.planned:,} planned, each once and in order; "
        f"{check.turns:,} responses replayed, all equal"
    )
    verdict.begin("figures")


def _check_summary(entry: Entry, episodes: Iterator[EpisodeRecord], verdict: Verdict) -> None:
    computed = _without_claims(compute_summary(entry.run, episodes, {}))
    recorded = _without_claims(entry.summary.as_json())
    verdict.summary = deepcopy(computed)
    for row, computed_row in zip(recorded["envs"], computed["envs"], strict=False):
        for name in ("blind", *LATER_FIELDS):  # an entry of an earlier version lacks them
            if name not in row:
                computed_row.pop(name, None)
    if difference := first_difference(recorded, computed, "summary"):
        raise EntryError(difference)
    if json.dumps(recorded, sort_keys=True) != json.dumps(computed, sort_keys=True):
        raise EntryError("summary: has unknown fields, or numbers in another form")
    causes = computed.get("given_up", {})
    given_up = f"; given up and failed: {describe_causes(causes)}" if causes else ""
    verdict.record_pass(f"recomputed, all equal; suite score {computed['suite_score']}{given_up}")


def _without_claims(summary: JsonObject) -> JsonObject:
    """Return a summary without times and cost, which cannot be recomputed."""
    envs = [{k: v for k, v in row.items() if k != "seconds"} for row in summary["envs"]]
    return {**{k: v for k, v in summary.items() if k != "cost"}, "envs": envs}
