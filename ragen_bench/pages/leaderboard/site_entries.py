"""The entries of the site, each verified before it is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ragen_bench.errors import UserError
from ragen_bench.leaderboard.announcements.draws import find_draws_near
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.plausibility import Sign
from ragen_bench.leaderboard.public_lead import find_public_leads, read_scores
from ragen_bench.leaderboard.rules import nondefault_settings
from ragen_bench.leaderboard.schema import Entry
from ragen_bench.leaderboard.verify import Check, Progress, read_entry, verify
from ragen_bench.pages.leaderboard.figures import Figures, figures_of
from ragen_bench.pages.leaderboard.reproductions import reproduction_of
from ragen_bench.runs.draws import Draw
from ragen_bench.runs.schema import Object, RunConfig
from ragen_envs.core.sealed import SealedKeyError

_PLAYERS: dict[str, Literal["floor", "ceiling"]] = {"random": "floor", "oracle": "ceiling"}


@dataclass(frozen=True)
class SiteEntry:
    """An entry of the site.

    Attributes:
        directory: the name of its directory, which is safe as a part of a path.
        entry: the content of entry.json.
        figures: Metrics of the summary.
        checks: the checks of `verify`, empty if it was not run.
        reproduction: the content of its file in `reproductions/`, or None.
        signs: what `verify` saw that makes its answers less plausible.
        draw: what answered its announcement, None on other splits than `drawn`.
    """

    directory: str
    entry: Entry
    figures: Figures
    checks: tuple[Check, ...] = ()
    reproduction: Object | None = None
    signs: tuple[Sign, ...] = ()
    draw: Draw | None = None

    @property
    def run(self) -> RunConfig:
        """The content of run.json."""
        return self.entry.run

    @property
    def name(self) -> str:
        """The model, as the submitter calls it."""
        return self.entry.name

    @property
    def verified(self) -> bool:
        """Whether every answer was replayed and every figure recomputed for this site."""
        return bool(self.checks)

    @property
    def reproduced(self) -> bool | None:
        """Whether a rerun at another seed agrees; None if there was none."""
        return None if self.reproduction is None else bool(self.reproduction["reproduced"])

    @property
    def scripted(self) -> Literal["floor", "ceiling"] | None:
        """The end of the scale that this is, None for a model."""
        return _PLAYERS.get(self.run.model)

    @property
    def apart(self) -> list[str]:
        """The settings that set it apart from the others of its suite."""
        return nondefault_settings(self.run)

    @property
    def has_report(self) -> bool:
        """Whether the site shows its trajectories.

        Not what nobody verified, and not sealed instances: they would be given away.
        """
        return self.verified and self.run.split != "sealed"


def entry_directories(leaderboard: Path) -> list[Path]:
    """Return the files of `entries/` that are not hidden, by name.

    Raises:
        UserError: if there is no such directory.
    """
    entries = leaderboard / "entries"
    if not entries.is_dir():
        raise UserError(f"{leaderboard} holds no entries/; give the directory of a leaderboard")
    return sorted(path for path in entries.iterdir() if not path.name.startswith("."))


def read_site_entry(
    path: Path,
    reproductions: Path,
    verified: bool = True,
    progress: Progress = lambda *_: None,
) -> SiteEntry:
    """Return an entry for the site.

    Args:
        path: the entry's directory.
        reproductions: the directory of the maintainers' reruns.
        verified: whether to replay it; if not, only its form and settings are checked.
        progress: called as episodes are replayed.

    Raises:
        EntryError: if it is refused, with the reasons.
    """
    checks: tuple[Check, ...] = ()
    signs: tuple[Sign, ...] = ()
    try:
        if verified:
            verdict = verify(path, progress, others=())  # see `_compared`
            if verdict.entry is None or not verdict.verified:
                raise EntryError(*verdict.problems)
            entry, checks, signs = verdict.entry, tuple(verdict.checks), tuple(verdict.signs)
        else:
            entry = read_entry(path)
    except SealedKeyError as error:
        raise EntryError(f"is of the sealed split: {error}") from None
    figures = figures_of(entry.summary.as_json())
    if [row.env for row in figures.rows] != [env.id for env in entry.run.envs]:
        raise EntryError("summary.envs: are not the environments of the run")
    rerun = reproduction_of(path.name, entry, reproductions)
    played = entry.run.draw
    draw = find_draws_near(path)(played.commitment) if played else None
    return SiteEntry(path.name, entry, figures, checks, rerun, signs, draw)


def read_site_entries(
    leaderboard: Path,
    verified: bool,
    progress: Progress,
    on_entry: Callable[[str, list[str]], None] = lambda *_: None,
) -> tuple[list[SiteEntry], dict[str, list[str]]]:
    """Return the entries of a leaderboard, and why others are refused.

    Args:
        leaderboard: a directory with `entries/` and perhaps `reproductions/`.
        verified: whether to replay them.
        progress: called as episodes of an entry are replayed.
        on_entry: called after each entry with its name and why it is refused.

    Returns:
        The entries in the order of their names, and the reasons by the names of those refused.

    Raises:
        UserError: if there are no entries.
    """
    entries, refused = [], {}
    for path in entry_directories(leaderboard):
        problems: list[str] = []
        try:
            entries.append(read_site_entry(path, leaderboard / "reproductions", verified, progress))
        except EntryError as error:
            problems = refused[path.name] = list(map(str, error.args))
        on_entry(path.name, problems)
    return _compared(entries), refused


def _compared(entries: list[SiteEntry]) -> list[SiteEntry]:
    """Return the entries with the signs that the verified ones show beside each other.

    A lead on public instances stands with the entry on those.
    """
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
