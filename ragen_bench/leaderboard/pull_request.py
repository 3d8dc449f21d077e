"""Reads the one entry or announcement that a branch adds, so that it can be verified.

Nothing is checked out, and no code of the branch is run: only git's objects are read.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from ragen_bench.errors import UserError
from ragen_bench.leaderboard.announcements import (
    ANNOUNCEMENT_BYTES,
    ANNOUNCEMENTS,
    DRAW_BYTES,
    DRAWS,
    check_announcement,
    check_file_name,
    explain_announced_refusal,
    read_announcement,
    read_draw,
)
from ragen_bench.leaderboard.files import ENTRY_JSON, EPISODES, MAX_BYTES, check_directory_name
from ragen_bench.leaderboard.strict_json import EntryError
from ragen_bench.runs.draws import Draw, compute_commitment

# Plumbing, since settings such as `diff.relative` hide paths from `git diff`. A .gitmodules in the
# working tree can hide submodules from both commands.
_CHANGES = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--ignore-submodules=none")
_PLAIN_FILE = ("100644", "blob")


class _GitError(UserError):
    def __init__(self, command: str, message: str) -> None:
        super().__init__(f"git {command} failed: {message}")
        self.message = message


class TreeFile(NamedTuple):
    """A file in a commit, as git describes it; the size is "BAD" for a missing object."""

    path: str
    mode: str
    kind: str
    object_id: str
    size: str

    def check_plain(self, name: str) -> int:
        """Return the size in bytes of a plain file in the repository; others raise EntryError."""
        if (self.mode, self.kind) != _PLAIN_FILE:
            raise EntryError(f"{name} is not a plain file: git's mode is {self.mode}")
        if not self.size.isdecimal():
            raise EntryError(f"{name} is not in the repository; fetch the branch again")
        return int(self.size)


class Branch:
    """A branch to be merged, in the repository at a path.

    `base` is the commit to merge into, `head` the last one of the branch: hashes or names when
    given, hashes as attributes. Raises UserError if git does not know a commit, or the two have no
    common history, and EntryError if the changes of a merge cannot be determined from the branch.
    """

    def __init__(self, repository: Path, base: str, head: str) -> None:
        self._repository = repository
        # Resolved once: a name may move meanwhile, or look like an option of git.
        self.base, self.head = self._resolve(base), self._resolve(head)
        forks = self._git("merge-base", "--all", self.base, self.head, may_be=(0, 1)).split()
        if not forks:
            raise UserError(
                "the two commits have no history in common here; if the clone is shallow, fetch "
                "with --unshallow"
            )
        # A comparison with one merge base does not show what the merge reverts of the others.
        if len(forks) > 1:
            raise EntryError(
                f"the branch left its base at {len(forks)} commits at once, so the changes of a "
                "merge cannot be determined; send the entry as one commit on top of the base"
            )
        self._fork = forks[0].decode()

    def changed_paths(self) -> list[str]:
        """Return the paths that the branch changes."""
        return self._list(*_CHANGES, self._fork, self.head)

    def has_base_changed(self, *paths: str) -> bool:
        """Return whether the base has changed any of these paths since the branch left it."""
        return bool(self._list(*_CHANGES, self._fork, self.base, "--", *paths))

    def list_files(self, commit: str, path: str) -> list[TreeFile]:
        """Return the files of a commit at a path, or below a path that ends in a slash."""
        files = []
        for line in self._list("ls-tree", "-r", "-l", "-z", "--full-tree", commit, "--", path):
            metadata, file = line.split("\t", 1)
            files.append(TreeFile(file, *metadata.split()))
        return files

    def read_blob(self, object_id: str) -> bytes:
        """Return the content of a file."""
        return self._git("cat-file", "blob", object_id)

    def _resolve(self, name: str) -> str:
        arguments = "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}"
        try:
            return self._git(*arguments).decode().strip()
        except _GitError as error:
            raise UserError(
                f"git finds no commit {name!r} here ({error.message}); give a branch or a hash "
                "that has been fetched"
            ) from None

    def _list(self, *arguments: str) -> list[str]:
        # A name that is not UTF-8 must not end the check; no entry contains one.
        names = self._git(*arguments).split(b"\0")
        return [name.decode(errors="backslashreplace") for name in names if name]

    def _git(self, *arguments: str, may_be: tuple[int, ...] = (0,)) -> bytes:
        # With replaced objects, the check would read others than the merge.
        command = ["git", "--no-replace-objects", "-C", str(self._repository), *arguments]
        try:
            process = subprocess.run(command, capture_output=True, check=False)
        except FileNotFoundError:
            raise UserError("git is not installed; install it to check a branch") from None
        if process.returncode not in may_be:
            errors = process.stderr.decode(errors="replace").strip().splitlines()
            raise _GitError(arguments[0], errors[0] if errors else "no message")
        return process.stdout


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
    """A proposed change of an entry's files; a withdrawn entry has no files."""

    name: str
    does: Literal["adds", "changes", "withdraws"]
    files: dict[str, tuple[int, str]]


def read_proposal(branch: Branch) -> Proposal | None:
    """Return the entry that a branch adds, changes or withdraws, or None if it touches none.

    Raises EntryError if the branch, or merging it, changes more than one entry, or changes files
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
    """Write a proposed entry's files into a folder; EntryError for one above the size limit."""
    target = folder / proposal.name
    target.mkdir()
    for name, (size, object_id) in proposal.files.items():
        if size > MAX_BYTES[name]:
            raise EntryError(f"{name} has {size:,} bytes; the maximum is {MAX_BYTES[name]:,}")
        (target / name).write_bytes(branch.read_blob(object_id))
    return target


def read_proposed_announcement(branch: Branch) -> tuple[str, str] | None:
    """Return the file name and commitment of the announcement that a branch adds, or None.

    Raises EntryError if the announcement is refused, or the branch changes anything else.
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
    """Return the draw for a commitment in the base of a branch, or raise EntryError."""
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
