"""Building: from a leaderboard's directory to its site."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.export.card import card
from ragen_bench.leaderboard.announcements.draws import DRAWS
from ragen_bench.leaderboard.announcements.files import render_json
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.verify import Progress
from ragen_bench.pages.leaderboard.entry_report import write_entry_report
from ragen_bench.pages.leaderboard.exports import as_csv, as_json
from ragen_bench.pages.leaderboard.pages import Pages
from ragen_bench.pages.leaderboard.ranking import rankings
from ragen_bench.pages.leaderboard.reference import Source, read_reference
from ragen_bench.pages.leaderboard.site_entries import SiteEntry, read_site_entries
from ragen_bench.runs.atomic import replacing_folder

_ABOUT = """\
The entries of ragen's leaderboard: a row for each entry and environment, in which the suite's score
stands again. `verified` says whether every answer was replayed and every figure recomputed.
"""
_OURS = {"index.html", "leaderboard.json", "leaderboard.csv"}


@dataclass(frozen=True)
class BuiltSite:
    """The result of a build.

    Attributes:
        entries: the entries of the site.
        refused: why others are refused, by the names of their directories. If there are any, no
            site was written.
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

    The site takes its place when all of it is written, and only if no entry is refused.

    Args:
        leaderboard: a directory with `entries/`, and perhaps `reproductions/`, where
            `ENTRY.json` is what `reproduce` wrote of an entry, and `reference.json`.
        out: the site's directory, which is missing, empty or an older site.
        verified: whether to verify the entries. If not, they are marked, and their trajectories
            are not shown.
        progress: called as episodes of an entry are replayed, with their number and that of all.
        on_entry: called after each entry with its name and why it is refused.

    Raises:
        UserError: if the leaderboard has no entries/, its other files are broken, or `out` holds
            something else.
    """
    _check_out(out)
    sources = read_reference(leaderboard / "reference.json")
    entries, refused = read_site_entries(leaderboard, verified, progress, on_entry)
    refused |= _orphans(leaderboard / "reproductions", entries, refused)
    if not refused:
        with replacing_folder(out) as draft:
            _fill(draft, leaderboard / "entries", entries, sources)
    return BuiltSite(entries, refused)


def _orphans(
    directory: Path, entries: list[SiteEntry], refused: dict[str, list[str]]
) -> dict[str, list[str]]:
    """Return the problems of reruns whose entry is missing."""
    known = {entry.directory for entry in entries} | refused.keys()
    names = sorted({file.stem for file in directory.glob("*.json")} - known)
    return {name: [f"reproductions/{name}.json belongs to no entry"] for name in names}


def _check_out(out: Path) -> None:
    if not out.exists() and not out.is_symlink():
        return
    if out.is_symlink() or not out.is_dir():
        raise UserError(f"{out} is not a directory; choose another --out")
    if out.samefile("."):
        raise UserError(
            f"{out} is where this runs, and is replaced; go up, or choose another --out"
        )
    names = {file.name for file in out.iterdir()}
    if names and not names >= _OURS:
        raise UserError(f"{out} holds something else than a site; choose another --out")


def _fill(
    draft: Path, directory: Path, entries: list[SiteEntry], sources: tuple[Source, ...]
) -> None:
    ranked = rankings(entries)
    texts = dict(Pages(ranked, sources).all())
    lines = as_csv(ranked)
    texts |= {"leaderboard.json": as_json(ranked, sources), "leaderboard.csv": lines}
    rows = sum(len(entry.figures.rows) for entry in entries)
    texts["README.md"] = card(
        "ragen's leaderboard", _ABOUT, "entries", "leaderboard.csv", rows, ["leaderboard"]
    )
    for name, text in texts.items():
        file = draft / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    _write_draws(draft / DRAWS, entries)
    for entry in entries:
        if entry.has_report:
            packed = directory / entry.directory
            try:
                write_entry_report(packed, entry.entry, draft / "entries" / entry.directory)
            except EntryError as error:
                raise UserError(f"{packed} {error}", exit_code=1) from None


def _write_draws(folder: Path, entries: list[SiteEntry]) -> None:
    """Write the draws of entries, with the announcements in them, where their pages link to."""
    for draw in [entry.draw for entry in entries if entry.draw]:
        folder.mkdir(exist_ok=True)
        text = render_json(draw.as_json())
        (folder / f"{draw.commitment}.json").write_text(text, encoding="ascii", newline="\n")
