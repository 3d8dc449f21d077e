"""Builds the site of a leaderboard directory, with the report of each verified entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ragen_bench.analysis import fetch_analysis
from ragen_bench.errors import UserError
from ragen_bench.export.card import render_card
from ragen_bench.json_types import JsonObject
from ragen_bench.leaderboard.announcements import DRAWS, render_json
from ragen_bench.leaderboard.files import PackedEpisodes, open_entry
from ragen_bench.leaderboard.schema import Entry
from ragen_bench.leaderboard.strict_json import EntryError, parse
from ragen_bench.leaderboard.verify import Progress
from ragen_bench.pages.leaderboard.exports import render_csv, render_json_export
from ragen_bench.pages.leaderboard.pages import render_pages
from ragen_bench.pages.leaderboard.ranking import build_rankings
from ragen_bench.pages.leaderboard.site_entries import (
    SiteEntry,
    Source,
    read_reference,
    read_site_entries,
)
from ragen_bench.pages.report import Home, write_report
from ragen_bench.runs.checked import read_episode
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.schema import EpisodeRecord
from ragen_envs.core.folders import replacing_folder

_ABOUT = """\
The entries of ragen's leaderboard, one row per entry and environment; the suite score is repeated.
`verified`: every response was replayed and every metric recomputed.
"""
_OURS = {"index.html", "leaderboard.json", "leaderboard.csv"}


@dataclass(frozen=True)
class BuiltSite:
    """The result of a build.

    Attributes:
        entries: Entries of the site.
        refused: Reasons for refusals by directory name. If there are any, no site is written.
    """

    entries: list[SiteEntry]
    refused: dict[str, list[str]] = field(default_factory=dict)


def build_site(
    leaderboard: Path,
    out: Path,
    verified: bool = True,
    progress: Progress = lambda *_: None,
    on_entry: Callable[[str, list[str]], None] = lambda *_: None,
) -> BuiltSite:
    """Build the site of a leaderboard; the same entries give the same bytes.

    The site is written completely before it replaces an older one, and only if no entry is refused.

    Args:
        leaderboard: Directory with `entries/`, and optionally `reproductions/`, with the output of
            `reproduce` in `ENTRY.json`, and `reference.json`.
        out: Directory of the site: missing, empty or an older site.
        verified: Verify the entries; what this user's cache has of them is not replayed, see
            `verify`. Otherwise they are marked, and trajectories are omitted.
        progress: Called with the numbers of replayed and of all episodes of an entry.
        on_entry: Called after each entry, with its name and the reasons for a refusal.

    Raises:
        UserError: if the leaderboard has no entries/, its other files are broken, or `out` is not
            a site.
    """
    _check_out(out)
    sources = read_reference(leaderboard / "reference.json")
    entries, refused = read_site_entries(leaderboard, verified, progress, on_entry)
    known = {entry.directory for entry in entries} | refused.keys()
    reruns = {file.stem for file in (leaderboard / "reproductions").glob("*.json")}
    for name in sorted(reruns - known):
        refused[name] = [f"reproductions/{name}.json belongs to no entry"]
    if not refused:
        with replacing_folder(out) as draft:
            _fill(draft, leaderboard / "entries", entries, sources)
    return BuiltSite(entries, refused)


def _check_out(out: Path) -> None:
    if not out.exists() and not out.is_symlink():
        return
    if out.is_symlink() or not out.is_dir():
        raise UserError(f"{out} is not a directory; choose another --out")
    if out.samefile("."):
        raise UserError(
            f"{out} is the working directory, which would be replaced; choose another --out"
        )
    names = {file.name for file in out.iterdir()}
    if names and not names >= _OURS:
        raise UserError(f"{out} is not a site; choose another --out")


def _fill(
    draft: Path, directory: Path, entries: list[SiteEntry], sources: tuple[Source, ...]
) -> None:
    ranked = build_rankings(entries)
    texts = dict(render_pages(ranked, sources))
    lines = render_csv(ranked)
    texts |= {"leaderboard.json": render_json_export(ranked, sources), "leaderboard.csv": lines}
    rows = sum(len(entry.figures.rows) for entry in entries)
    texts["README.md"] = render_card(
        "ragen's leaderboard", _ABOUT, "entries", "leaderboard.csv", rows, ["leaderboard"]
    )
    for name, text in texts.items():
        file = draft / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    for draw in [entry.draw for entry in entries if entry.draw]:  # their entries link to them
        (draft / DRAWS).mkdir(exist_ok=True)
        file = draft / DRAWS / f"{draw.commitment}.json"
        file.write_text(render_json(draw.as_json()), encoding="ascii", newline="\n")
    for entry in entries:
        if entry.has_report:
            packed = directory / entry.directory
            try:
                write_entry_report(packed, entry.entry, draft / "entries" / entry.directory)
            except EntryError as error:
                raise UserError(f"{packed} {error}", exit_code=1) from None


class EntryDirectory(RunDirectory):
    """A verified entry in `directory`, read as a run whose report goes to `path`."""

    def __init__(self, directory: Path, entry: Entry, path: Path) -> None:
        super().__init__(path, entry.run)
        self._directory, self._entry = directory, entry

    def recorded(self) -> Iterator[tuple[JsonObject, EpisodeRecord]]:
        """Yield the verified episodes; an EntryError if they changed after the verification."""
        with open_entry(self._directory) as files:
            packed = PackedEpisodes(files.episodes, self._entry.episodes_bytes)
            for line in packed.lines():
                content = parse(line)
                yield content, read_episode(content)
        if packed.sha256 != self._entry.episodes_sha256:
            raise EntryError("changed while the site was built")


def write_entry_report(directory: Path, entry: Entry, out: Path) -> None:
    """Write report.html of a verified entry, with the analysis of its failures."""
    run, home = EntryDirectory(directory, entry, out), Home("Leaderboard entry", "index.html")
    analysis = fetch_analysis(run, entry.episodes_sha256)
    write_report(run, entry.summary.as_json(), analysis, home)
