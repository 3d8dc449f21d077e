"""Takes the one entry that a branch adds out of git, so that it can be verified."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.files import ENTRY_JSON, EPISODES, MOST_BYTES, check_directory_name
from ragen_bench.leaderboard.git import Branch

_PLAIN_FILE = "100644"
# Texts, not paths: for those `a/./b` and `a//b`, which a tree can hold, were the same as `a/b`.
_ENTRIES = "leaderboard/entries/"
_REPRODUCTIONS = "leaderboard/reproductions/"
_MAINTAINERS_OWN = {
    _REPRODUCTIONS: "a rerun is",
    "leaderboard/draws/": "a draw is",
    "leaderboard/reference.json": "published figures are",
}
_FOLDERS = {
    "leaderboard",
    *(f"leaderboard/{name}" for name in ("announcements", "draws", "entries", "reproductions")),
}
_SHOWN = 10


@dataclass(frozen=True)
class Proposal:
    """What a branch proposes for the leaderboard.

    Attributes:
        name: the entry's directory.
        does: what merging the branch does with the entry.
        files: size in bytes and git's object id of each of its files; none if it is withdrawn.
    """

    name: str
    does: Literal["adds", "changes", "withdraws"]
    files: dict[str, tuple[int, str]]


def proposal(branch: Branch) -> Proposal | None:
    """Return the entry that a branch adds, changes or withdraws, or None if it touches none.

    Nothing is checked out and nothing of the branch is run: only git's objects are read.

    Raises:
        UserError: if git cannot tell.
        EntryError: if the branch changes anything beside one entry, or merging it would, or what
            only maintainers commit.
    """
    paths = branch.changed()
    names = sorted({path.split("/")[2] for path in paths if path.startswith(_ENTRIES)})
    if not names:
        _refuse_maintainers_own(paths)
        return None
    if len(names) > 1:
        raise EntryError(f"{len(names)} entries are touched: {_some(names)}; send one at a time")
    name = names[0]
    check_directory_name(name)
    directory, rerun = f"{_ENTRIES}{name}/", f"{_REPRODUCTIONS}{name}.json"
    others = [path for path in paths if not path.startswith(directory)]
    if [path for path in others if path != rerun]:
        raise EntryError(
            f"{_some(others)} changes too; send the directory {_ENTRIES}{name} and nothing else"
        )
    if branch.changed_since(directory, rerun):
        raise EntryError(
            f"{name} has changed in the base since the branch left it; merge the base into the "
            "branch, so that what is verified is what comes out"
        )
    if branch.listed(branch.head, rerun):
        raise EntryError(
            f"{rerun} is of the entry as it was; remove it, and a maintainer reruns the new one"
        )
    files = _files(branch, directory)
    if not files:
        return Proposal(name, "withdraws", files)
    return Proposal(name, "changes" if branch.listed(branch.base, directory) else "adds", files)


def checked_out(branch: Branch, proposed: Proposal, folder: Path) -> Path:
    """Write a proposed entry's files below a folder, and return its directory.

    Raises:
        EntryError: if a file is larger than any that is read; it is not written.
    """
    target = folder / proposed.name
    target.mkdir()
    for name, (size, object_id) in proposed.files.items():
        if size > MOST_BYTES[name]:
            raise EntryError(f"{name} has {size:,} bytes; at most {MOST_BYTES[name]:,} are read")
        (target / name).write_bytes(branch.content(object_id))
    return target


def _refuse_maintainers_own(paths: list[str]) -> None:
    """Refuse what nothing can verify, and the site believes."""
    if instead := sorted(_FOLDERS.intersection(paths)):
        raise EntryError(f"{_some(instead)} is a folder of the leaderboard, and stays one")
    for place, what in _MAINTAINERS_OWN.items():
        own = [path for path in paths if path.startswith(place)]
        if own:
            raise EntryError(
                f"{_some(own)} changes, and {what} the word of a maintainer, who commits it to "
                "the base; leave it out"
            )


def _files(branch: Branch, directory: str) -> dict[str, tuple[int, str]]:
    """Return the files of an entry's directory at the branch's last commit."""
    files: dict[str, tuple[int, str]] = {}
    for line in branch.listed(branch.head, directory):
        about, path = line.split("\t", 1)
        mode, kind, object_id, size = about.split()
        file = path.removeprefix(directory)
        if file not in MOST_BYTES:
            raise EntryError(f"holds {file!r}; an entry is {ENTRY_JSON} and {EPISODES} alone")
        if (mode, kind) != (_PLAIN_FILE, "blob"):
            raise EntryError(f"{file} is not a plain file: git's mode is {mode}")
        if file in files:
            raise EntryError(f"{file} is there twice")
        if not size.isdecimal():  # git says "BAD" of an object that it lacks
            raise EntryError(f"{file} is not in the repository; fetch the branch anew")
        files[file] = int(size), object_id
    return files


def _some(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(map(repr, names[:_SHOWN])) + (f" and {more} more" if more > 0 else "")
