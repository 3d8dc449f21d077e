"""Reads and verifies the entries of the site."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.announcements.draws import find_draws_near
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.plausibility import Sign
from ragen_bench.leaderboard.public_lead import find_public_leads, read_scores
from ragen_bench.leaderboard.rules import nondefault_settings
from ragen_bench.leaderboard.schema import Entry
from ragen_bench.leaderboard.verify import Check, Progress, read_entry, verify
from ragen_bench.pages.leaderboard.figures import Figures, read_figures
from ragen_bench.pages.leaderboard.reproductions import read_reproduction
from ragen_bench.runs.draws import Draw
from ragen_bench.runs.schema import RunConfig
from ragen_envs.core.sealed import SealedKeyError

_PLAYERS: dict[str, Literal["floor", "ceiling"]] = {"random": "floor", "oracle": "ceiling"}


@dataclass(frozen=True)
class SiteEntry:
    """An entry of the site.

    Attributes:
        directory: Directory name, safe as a part of a path.
        entry: Content of entry.json.
        figures: Metrics of the summary.
        checks: Checks of `verify`; empty if it was not run.
        reproduction: Content of its file in `reproductions/`, or None.
        signs: Signs of `verify` that make the responses less plausible.
        draw: Draw for its announcement; None on splits other than `drawn`.
    """

    directory: str
    entry: Entry
    figures: Figures
    checks: tuple[Check, ...] = ()
    reproduction: JsonObject | None = None
    signs: tuple[Sign, ...] = ()
    draw: Draw | None = None

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
    def apart(self) -> list[str]:
        """Settings for which the entry is ranked separately."""
        return nondefault_settings(self.run)

    @property
    def has_report(self) -> bool:
        """Whether the site shows its trajectories: only verified ones, and not of sealed splits."""
        return self.verified and self.run.split != "sealed"


def list_entries(leaderboard: Path) -> list[Path]:
    """Return the files of `entries/` that are not hidden, sorted by name.

    Raises:
        UserError: if there is no such directory.
    """
    entries = leaderboard / "entries"
    if not entries.is_dir():
        raise UserError(f"{leaderboard} has no entries/; give the directory of a leaderboard")
    return sorted(path for path in entries.iterdir() if not path.name.startswith("."))


def read_site_entry(
    path: Path,
    reproductions: Path,
    verified: bool = True,
    progress: Progress = lambda *_: None,
) -> SiteEntry:
    """Read an entry for the site.

    Args:
        path: Directory of the entry.
        reproductions: Directory of the reruns.
        verified: Replay the entry; otherwise check only its form and settings.
        progress: Called as episodes are replayed.

    Raises:
        EntryError: if it is refused, with the reasons.
    """
    checks: tuple[Check, ...] = ()
    signs: tuple[Sign, ...] = ()
    try:
        if verified:
            verdict = verify(path, progress, others=())  # see `_add_lead_signs`
            if verdict.entry is None or not verdict.verified:
                raise EntryError(*verdict.problems)
            entry, checks, signs = verdict.entry, tuple(verdict.checks), tuple(verdict.signs)
        else:
            entry = read_entry(path)
    except SealedKeyError as error:
        raise EntryError(f"is of the sealed split: {error}") from None
    figures = read_figures(entry.summary.as_json())
    if [row.env for row in figures.rows] != [env.id for env in entry.run.envs]:
        raise EntryError("summary.envs: are not the environments of the run")
    rerun = read_reproduction(path.name, entry, reproductions)
    run_draw = entry.run.draw
    draw = find_draws_near(path)(run_draw.commitment) if run_draw else None
    return SiteEntry(path.name, entry, figures, checks, rerun, signs, draw)


def read_site_entries(
    leaderboard: Path,
    verified: bool,
    progress: Progress,
    on_entry: Callable[[str, list[str]], None] = lambda *_: None,
) -> tuple[list[SiteEntry], dict[str, list[str]]]:
    """Read the entries of a leaderboard.

    Args:
        leaderboard: Directory with `entries/` and optionally `reproductions/`.
        verified: Replay the entries.
        progress: Called as episodes of an entry are replayed.
        on_entry: Called after each entry, with its name and the reasons for a refusal.

    Returns:
        The entries sorted by name, and the reasons for refusals by name.

    Raises:
        UserError: if there are no entries.
    """
    entries, refused = [], {}
    for path in list_entries(leaderboard):
        problems: list[str] = []
        try:
            entries.append(read_site_entry(path, leaderboard / "reproductions", verified, progress))
        except EntryError as error:
            problems = refused[path.name] = list(map(str, error.args))
        on_entry(path.name, problems)
    return _add_lead_signs(entries), refused


def _add_lead_signs(entries: list[SiteEntry]) -> list[SiteEntry]:
    """Add the signs of leads on public instances, from comparing the verified entries."""
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
    return [
        replace(entry, signs=(*entry.signs, *signs.get(entry.directory, ()))) for entry in entries
    ]
