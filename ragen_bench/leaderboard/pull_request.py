"""Reads the one entry or announcement that a branch adds, so that it can be verified.

Nothing is checked out, and no code of the branch is run: only git's objects are read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ragen_bench.leaderboard.announcements.draws import ANNOUNCEMENTS, DRAWS
from ragen_bench.leaderboard.announcements.files import (
    ANNOUNCEMENT_BYTES,
    DRAW_BYTES,
    check_announcement,
    check_file_name,
    explain_announced_refusal,
    read_announcement,
    read_draw,
)
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.files import ENTRY_JSON, EPISODES, MAX_BYTES, check_directory_name
from ragen_bench.leaderboard.git import Branch
from ragen_bench.runs.draws import Draw, compute_commitment

# Strings, not Path objects: those equate `a/./b` and `a//b`, which a tree can contain, with `a/b`.
_ENTRIES = "leaderboard/entries/"
_REPRODUCTIONS = "leaderboard/reproductions/"
_ANNOUNCEMENTS = f"leaderboard/{ANNOUNCEMENTS}/"
_DRAWS = f"leaderboard/{DRAWS}/"
_MAINTAINERS_ONLY = (_REPRODUCTIONS, _DRAWS, "leaderboard/reference.json")
_FOLDERS = {
    "leaderboard",
    *(path[:-1] for path in (_ANNOUNCEMENTS, _DRAWS, _ENTRIES, _REPRODUCTIONS)),
}
_MAX_NAMES = 10


@dataclass(frozen=True)
class Proposal:
    """A proposed change of one entry.

    Attributes:
        name: Directory name of the entry.
        does: Effect of merging the branch.
        files: Size in bytes and git object id of each file; empty if the entry is withdrawn.
    """

    name: str
    does: Literal["adds", "changes", "withdraws"]
    files: dict[str, tuple[int, str]]


def read_proposal(branch: Branch) -> Proposal | None:
    """Return the entry that a branch adds, changes or withdraws, or None if it touches none.

    Raises:
        UserError: if git fails.
        EntryError: if the branch, or merging it, changes more than one entry, or changes files
            that only maintainers commit.
    """
    paths = branch.changed_paths()
    names = sorted({path.split("/")[2] for path in paths if path.startswith(_ENTRIES)})
    if not names:
        _refuse_maintainers_files(paths)
        return None
    if len(names) > 1:
        raise EntryError(f"{len(names)} entries are changed: {_join(names)}; send one at a time")
    name = names[0]
    check_directory_name(name)
    directory, rerun = f"{_ENTRIES}{name}/", f"{_REPRODUCTIONS}{name}.json"
    others = [path for path in paths if not path.startswith(directory)]
    if [path for path in others if path != rerun]:
        raise EntryError(f"{_join(others)} changes too; send only the directory {_ENTRIES}{name}")
    if branch.has_base_changed(directory, rerun):
        raise EntryError(
            f"{name} has changed in the base since the branch left it; merge the base into the "
            "branch, so that the check sees the merged entry"
        )
    if branch.list_files(branch.head, rerun):
        raise EntryError(
            f"{rerun} belongs to the previous version of the entry; remove it, and a maintainer "
            "reruns the new one"
        )
    files = _entry_files(branch, directory)
    if not files:
        return Proposal(name, "withdraws", files)
    return Proposal(name, "changes" if branch.list_files(branch.base, directory) else "adds", files)


def write_proposal(branch: Branch, proposal: Proposal, folder: Path) -> Path:
    """Write a proposed entry's files into a folder, and return the entry's directory.

    Raises:
        EntryError: if a file is above the size limit; it is not written.
    """
    target = folder / proposal.name
    target.mkdir()
    for name, (size, object_id) in proposal.files.items():
        if size > MAX_BYTES[name]:
            raise EntryError(f"{name} has {size:,} bytes; the maximum is {MAX_BYTES[name]:,}")
        (target / name).write_bytes(branch.read_blob(object_id))
    return target


def read_proposed_announcement(branch: Branch) -> tuple[str, str] | None:
    """Return the file name and commitment of the announcement that a branch adds, or None.

    Raises:
        UserError: if git fails.
        EntryError: if the announcement is refused, or the branch changes anything else.
    """
    paths = branch.changed_paths()
    if not any(path.startswith(_ANNOUNCEMENTS) for path in paths):
        return None
    if len(paths) > 1:
        raise EntryError(
            f"an announcement and {len(paths) - 1} other files change; send only one announcement"
        )
    path = paths[0]
    name = path.removeprefix(_ANNOUNCEMENTS)
    check_file_name(name)
    if branch.list_files(branch.base, path):
        raise EntryError(f"{path} exists already and cannot be changed; add another file")
    announcement = read_announcement(_read_file(branch, branch.head, path, ANNOUNCEMENT_BYTES))
    commitment = compute_commitment(announcement)
    if branch.list_files(branch.base, f"{_DRAWS}{commitment}.json"):
        raise EntryError(
            f"the same run was announced before, and {_DRAWS}{commitment}.json answers it; "
            "evaluate with that draw"
        )
    if refusal := explain_announced_refusal(check_announcement(announcement)):
        raise EntryError(refusal)
    return name, commitment


def read_base_draw(branch: Branch, commitment: str) -> Draw:
    """Return the draw for a commitment in the base of a branch.

    Raises:
        EntryError: if it does not exist.
    """
    path = f"{_DRAWS}{commitment}.json"
    if not branch.list_files(branch.base, path):
        raise EntryError(
            f"the base has no {path}; announce first, then evaluate with the published draw"
        )
    draw = read_draw(_read_file(branch, branch.base, path, DRAW_BYTES))
    if draw.commitment != commitment:
        raise EntryError(f"{path} contains the draw for another commitment")
    return draw


def _refuse_maintainers_files(paths: list[str]) -> None:
    """Refuse files that no check can verify and the site trusts."""
    if replaced := sorted(_FOLDERS.intersection(paths)):
        raise EntryError(f"{_join(replaced)} is a folder of the leaderboard; do not replace it")
    for place in _MAINTAINERS_ONLY:
        changed = [path for path in paths if path.startswith(place)]
        if changed:
            raise EntryError(
                f"{_join(changed)} changes, and only maintainers commit {place}; leave it out"
            )


def _entry_files(branch: Branch, directory: str) -> dict[str, tuple[int, str]]:
    files: dict[str, tuple[int, str]] = {}
    for file in branch.list_files(branch.head, directory):
        name = file.path.removeprefix(directory)
        if name not in MAX_BYTES:
            raise EntryError(f"holds {name!r}; an entry is {ENTRY_JSON} and {EPISODES} alone")
        size = file.check_plain(name)
        if name in files:
            raise EntryError(f"{name} is there twice")
        files[name] = size, file.object_id
    return files


def _read_file(branch: Branch, commit: str, path: str, limit: int) -> bytes:
    files = branch.list_files(commit, path)
    if len(files) != 1:
        raise EntryError(f"{path} is not one file")
    size = files[0].check_plain(path)
    if size > limit:
        raise EntryError(f"{path} has {size:,} bytes; the maximum is {limit:,}")
    return branch.read_blob(files[0].object_id)


def _join(names: list[str]) -> str:
    rest = len(names) - _MAX_NAMES
    return ", ".join(map(repr, names[:_MAX_NAMES])) + (f" and {rest} more" if rest > 0 else "")
