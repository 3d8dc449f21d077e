"""From a leaderboard's directory to its site."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.verify import Progress
from ragen_bench.pages.leaderboard.listed import Listed, all_listed
from ragen_bench.pages.leaderboard.pages import Pages
from ragen_bench.pages.leaderboard.ranking import boards
from ragen_bench.pages.leaderboard.reference import Source, read_reference
from ragen_bench.pages.leaderboard.tables import as_csv, as_json
from ragen_bench.pages.leaderboard.trajectories import write_entry_report

_OURS = {"index.html", "leaderboard.json", "leaderboard.csv"}


@dataclass(frozen=True)
class Built:
    """What came of a build.

    Attributes:
        entries: that are on the site.
        refused: why others are not, by the names of their directories. If there are any, no site
            was written.
    """

    entries: list[Listed]
    refused: dict[str, list[str]] = field(default_factory=dict)


def build_site(
    leaderboard: Path,
    out: Path,
    verified: bool = True,
    progress: Progress = lambda episodes, planned: None,
    say: Callable[[str, list[str]], None] = lambda name, problems: None,
) -> Built:
    """Build the site of a leaderboard; the same entries give the same bytes.

    It takes its place when all of it is written. If an entry is refused, there is none.

    Args:
        leaderboard: a directory with `entries/`, and perhaps `reproductions/`, where
            `ENTRY.json` is what `reproduce` wrote of an entry, and `reference.json`.
        out: where the site goes; there may be nothing, an empty directory or an older site.
        verified: whether to verify the entries. If not, they are marked, and their trajectories
            are not shown.
        progress: called as episodes of an entry are replayed, with their number and that of all.
        say: called after each entry with its name and why it is refused.

    Raises:
        UserError: if the leaderboard has no entries/, its other files are broken, or `out` holds
            something else.
    """
    _check_out(out)
    sources = read_reference(leaderboard / "reference.json")
    found, refused = all_listed(leaderboard, verified, progress, say)
    refused |= _orphans(leaderboard / "reproductions", found, refused)
    if not refused:
        _write(leaderboard / "entries", found, sources, out)
    return Built(found, refused)


def _orphans(
    directory: Path, found: list[Listed], refused: dict[str, list[str]]
) -> dict[str, list[str]]:
    """Return the reruns of entries that are not there."""
    known = {entry.directory for entry in found} | refused.keys()
    names = sorted(file.stem for file in directory.glob("*.json"))
    return {
        name: [f"reproductions/{name}.json is of no entry"] for name in names if name not in known
    }


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


def _write(entries: Path, found: list[Listed], sources: tuple[Source, ...], out: Path) -> None:
    """Write the site beside its place, and put it there."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".site-", dir=out.parent) as folder:
        draft = Path(folder) / "site"
        _fill(draft, entries, found, sources)
        if out.exists():
            out.replace(Path(folder) / "old")  # a directory takes no other's place
        draft.replace(out)


def _fill(draft: Path, entries: Path, found: list[Listed], sources: tuple[Source, ...]) -> None:
    ranked = boards(found)
    texts = dict(Pages(ranked, sources).all())
    texts |= {"leaderboard.json": as_json(ranked, sources), "leaderboard.csv": as_csv(ranked)}
    for name, text in texts.items():
        file = draft / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")
    for entry in found:
        if entry.has_report:
            directory = entries / entry.directory
            try:
                write_entry_report(directory, entry.entry, draft / "entries" / entry.directory)
            except EntryError as error:
                raise UserError(f"{directory} {error}", exit_code=1) from None
