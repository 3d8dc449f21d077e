"""Reads the files of a leaderboard: its entries, verified, their reruns, and published results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.announcements import find_draws_near
from ragen_bench.leaderboard.plausibility import Sign, find_public_leads, read_scores
from ragen_bench.leaderboard.rerun import compare_rerun
from ragen_bench.leaderboard.rules import nondefault_settings
from ragen_bench.leaderboard.schema import Entry, Figure, Interval, read_as
from ragen_bench.leaderboard.strict_json import BadJsonError, EntryError, parse
from ragen_bench.leaderboard.verify import Check, Progress, Verdict, read_entry, verify
from ragen_bench.pages.leaderboard.figures import Figures, add_blind_scripts, read_figures
from ragen_bench.people import is_human
from ragen_bench.reading import read_bytes
from ragen_bench.runs.differences import brief, first_difference
from ragen_bench.runs.draws import Draw
from ragen_bench.runs.schema import RunConfig, RunDraw, Text, Whole
from ragen_envs.core.sealed import SealedKeyError


@dataclass(frozen=True)
class Reported:
    """One published row: its place in the source or "", and scores in percent by name."""

    where: Text
    method: Text
    scores: dict[Text, Annotated[Figure, Field(ge=0, le=100)]]


@dataclass(frozen=True, kw_only=True)
class Source:
    """A published work, with the settings of its measurement and the definition of its scores."""

    title: Text
    link: Text | None = None
    settings: Text
    metric: Text
    rows: tuple[Reported, ...]

    @property
    def columns(self) -> list[str]:
        """Names of the scores, in order of first appearance."""
        return list(dict.fromkeys(name for row in self.rows for name in row.scores))


def read_reference(file: Path) -> tuple[Source, ...]:
    """Read the published results, () without the file; a UserError gives the place of a mistake."""
    if not file.is_file():
        return ()
    try:
        content = parse(read_bytes(file, _MAX_BYTES))
        return read_as(_REFERENCE.validate_python, content).sources
    except (BadJsonError, EntryError) as error:
        raise UserError(f"{file} {error}", exit_code=1) from None


@dataclass(frozen=True)
class _Reference:
    sources: tuple[Source, ...]


_REFERENCE = TypeAdapter(_Reference)


_MAX_BYTES = 1 << 20


def read_reproduction(name: str, entry: Entry, directory: Path) -> JsonObject | None:
    """Read the rerun of the entry `name`, as `reproduce` wrote it; None without a file.

    The comparison of intervals is recomputed; the rerun's values are trusted. An EntryError is
    raised if the file belongs to another entry, or disagrees with its own intervals.
    """
    file = directory / f"{name}.json"
    if not file.is_file():
        return None
    try:
        content = parse(read_bytes(file, _MAX_BYTES))
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
_PLAYERS: dict[str, Literal["floor", "ceiling"]] = {"random": "floor", "oracle": "ceiling"}


@dataclass(frozen=True)
class SiteEntry:
    """An entry of the site; its directory name is safe as a part of a path.

    `checks` and `signs` are those of `verify`, empty if it was not run. `reproduction` is the
    content of the file in `reproductions/`. `draw` is the draw for its announcement, on the split
    `drawn`. `recalled` is whether an earlier command replayed it.
    """

    directory: str
    entry: Entry
    figures: Figures
    checks: tuple[Check, ...] = ()
    reproduction: JsonObject | None = None
    signs: tuple[Sign, ...] = ()
    draw: Draw | None = None
    recalled: bool = False

    @property
    def run(self) -> RunConfig:
        """Content of run.json."""
        return self.entry.run

    @property
    def name(self) -> str:
        """Name of the model, as the submitter gives it."""
        return self.entry.name

    @property
    def verified(self) -> bool:
        """Whether every response was replayed and every metric recomputed for this site."""
        return bool(self.checks)

    @property
    def reproduced(self) -> bool | None:
        """Whether a rerun at another seed agrees; None without a rerun."""
        return None if self.reproduction is None else bool(self.reproduction["reproduced"])

    @property
    def scripted(self) -> Literal["floor", "ceiling"] | None:
        """End of the scale that a scripted player defines; None for a model."""
        return _PLAYERS.get(self.run.model)

    @property
    def kind(self) -> Literal["scripted", "person", "agent", "model"]:
        """Kind of player: `person` is one or several people, `agent` a program around models."""
        if self.scripted:
            return "scripted"
        if is_human(self.run.model):
            return "person"
        return "agent" if self.run.model.startswith("python:") else "model"

    @property
    def is_ranked(self) -> bool:
        """Whether the entry can have a rank: baselines, scripted or of people, have none."""
        return self.kind not in ("scripted", "person")

    @property
    def apart(self) -> list[str]:
        """Settings for which the entry is ranked separately."""
        return nondefault_settings(self.run)

    @property
    def has_report(self) -> bool:
        """Whether the site shows its trajectories: only verified ones, and not of sealed splits."""
        return self.verified and self.run.split != "sealed"


def read_site_entry(
    path: Path, reproductions: Path, verified: bool = True, progress: Progress = lambda *_: None
) -> SiteEntry:
    """Read an entry, replayed if `verified` and if it was not before; EntryError if refused."""
    verdict = Verdict(path.name)
    try:
        if verified:
            # `read_site_entries` compares the entries.
            verdict = verify(path, progress, others=(), recall=True)
            if verdict.entry is None or not verdict.verified:
                raise EntryError(*verdict.problems)
            entry, summary = verdict.entry, verdict.summary
        else:
            entry = read_entry(path)
            summary = entry.summary.as_json()
    except SealedKeyError as error:
        raise EntryError(f"is of the sealed split: {error}") from None
    figures = read_figures(summary)
    if [row.env for row in figures.rows] != [env.id for env in entry.run.envs]:
        raise EntryError("summary.envs: are not the environments of the run")
    if verified or entry.run.split != "sealed":  # without a check the key may be missing
        figures = add_blind_scripts(figures, entry.run)
    rerun = read_reproduction(path.name, entry, reproductions)
    run_draw = entry.run.draw
    draw = find_draws_near(path)(run_draw.commitment) if run_draw else None
    checks, signs = tuple(verdict.checks), tuple(verdict.signs)
    return SiteEntry(path.name, entry, figures, checks, rerun, signs, draw, verdict.recalled)


def read_site_entries(
    leaderboard: Path,
    verified: bool,
    progress: Progress,
    on_entry: Callable[[str, list[str]], None] = lambda *_: None,
) -> tuple[list[SiteEntry], dict[str, list[str]]]:
    """Read the entries of a leaderboard, and replay those that are to be `verified`.

    `on_entry` is called after each entry, with its name and the reasons for a refusal. Returns the
    entries sorted by name, and the reasons for refusals by name. Without entries/ it raises a
    UserError.
    """
    entries, refused = [], {}
    folder = leaderboard / "entries"
    if not folder.is_dir():
        raise UserError(f"{leaderboard} has no entries/; give the directory of a leaderboard")
    for path in sorted(path for path in folder.iterdir() if not path.name.startswith(".")):
        problems: list[str] = []
        try:
            entries.append(read_site_entry(path, leaderboard / "reproductions", verified, progress))
        except EntryError as error:
            problems = refused[path.name] = list(map(str, error.args))
        on_entry(path.name, problems)
    # Signs of leads on public instances come from comparing the verified entries.
    known = {
        entry.directory: read_scores(entry.directory, entry.entry)
        for entry in entries
        if entry.verified
    }
    signs = {
        name: find_public_leads(entry, known.values())
        for name, entry in known.items()
        if not entry.is_unseen
    }
    entries = [
        replace(entry, signs=(*entry.signs, *signs.get(entry.directory, ()))) for entry in entries
    ]
    return entries, refused
