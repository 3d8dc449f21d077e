"""Takes the one entry that a branch adds out of git, so that it can be verified."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ragen_bench.errors import UserError
from ragen_bench.leaderboard.errors import EntryError
from ragen_bench.leaderboard.files import ENTRY_JSON, EPISODES, MOST_BYTES, check_directory_name

_PLAIN_FILE = "100644"
_ENTRIES = PurePosixPath("leaderboard/entries")
_REPRODUCTIONS = PurePosixPath("leaderboard/reproductions")
_SHOWN = 10


@dataclass(frozen=True)
class Proposal:
    """What a branch proposes for the leaderboard.

    Attributes:
        name: the entry's directory.
        files: size in bytes and git's object id of each of its files; none if it is withdrawn.
    """

    name: str
    files: dict[str, tuple[int, str]]


def proposal(repository: Path, base: str, head: str) -> Proposal | None:
    """Return the entry that a branch adds, changes or withdraws, or None if it touches none.

    Nothing is checked out and nothing of the branch is run: only git's objects are read.

    Args:
        repository: a git repository.
        base: a commit of the leaderboard that the branch is to be merged into.
        head: the branch's last commit.

    Raises:
        UserError: if git cannot tell.
        EntryError: if the branch changes anything beside one entry.
    """
    listing = _git(repository, "diff", "--name-only", "-z", "--no-renames", f"{base}...{head}")
    paths = [PurePosixPath(name) for name in _names(listing)]
    names = sorted({path.parts[2] for path in paths if _ENTRIES in path.parents})
    if not names:
        return None
    if len(names) > 1:
        raise EntryError(f"{len(names)} entries are touched: {_some(names)}; send one at a time")
    name = names[0]
    check_directory_name(name)
    rerun = _REPRODUCTIONS / f"{name}.json"
    others = [str(path) for path in paths if _ENTRIES / name not in path.parents]
    if [path for path in others if path != str(rerun)]:
        raise EntryError(
            f"{_some(others)} changes too; send the directory {_ENTRIES / name} and nothing else"
        )
    if _git(repository, "ls-tree", "-z", "--full-tree", head, "--", str(rerun)):
        raise EntryError(
            f"{rerun} is of the entry as it was; remove it, and a maintainer reruns the new one"
        )
    return Proposal(name, _files(repository, head, name))


def checked_out(repository: Path, proposed: Proposal, folder: Path) -> Path:
    """Write a proposed entry's files below a folder, and return its directory.

    Raises:
        EntryError: if a file is larger than any that is read; it is not written.
    """
    target = folder / proposed.name
    target.mkdir()
    for name, (size, object_id) in proposed.files.items():
        if size > MOST_BYTES[name]:
            raise EntryError(f"{name} has {size:,} bytes; at most {MOST_BYTES[name]:,} are read")
        (target / name).write_bytes(_git(repository, "cat-file", "blob", object_id))
    return target


def _files(repository: Path, head: str, name: str) -> dict[str, tuple[int, str]]:
    """Return the files of an entry's directory at a commit."""
    directory = f"{_ENTRIES / name}/"
    listing = _git(repository, "ls-tree", "-r", "-l", "-z", "--full-tree", head, "--", directory)
    found = {}
    for line in _names(listing):
        about, path = line.split("\t", 1)
        mode, kind, object_id, size = about.split()
        file = path.removeprefix(directory)
        if file not in MOST_BYTES:
            raise EntryError(f"holds {file!r}; an entry is {ENTRY_JSON} and {EPISODES} alone")
        if (mode, kind) != (_PLAIN_FILE, "blob"):
            raise EntryError(f"{file} is no plain file: git's mode is {mode}")
        found[file] = int(size), object_id
    return found


def _names(listing: bytes) -> list[str]:
    # A name that is no UTF-8 must not end the check; it is in no entry.
    return [name.decode(errors="backslashreplace") for name in listing.split(b"\0") if name]


def _some(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(map(repr, names[:_SHOWN])) + (f" and {more} more" if more > 0 else "")


def _git(repository: Path, *arguments: str) -> bytes:
    try:
        done = subprocess.run(
            ["git", "-C", str(repository), *arguments], capture_output=True, check=False
        )
    except FileNotFoundError:
        raise UserError("git is not installed, and a branch is read with it") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise UserError(f"git {arguments[0]} failed in {repository}: {said[0]}")
    return done.stdout
