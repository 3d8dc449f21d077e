"""Reads the changes of a branch from git's objects, without checking anything out."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import NamedTuple

from ragen_bench.errors import UserError
from ragen_bench.leaderboard.errors import EntryError

# Plumbing, since settings such as `diff.relative` hide paths from `git diff`. A .gitmodules in the
# working tree can hide submodules from both commands.
_CHANGES = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--ignore-submodules=none")
_PLAIN_FILE = ("100644", "blob")


class _GitError(UserError):
    def __init__(self, command: str, message: str) -> None:
        super().__init__(f"git {command} failed: {message}")
        self.message = message


class TreeFile(NamedTuple):
    """A file in a commit.

    Attributes:
        path: Path in the repository.
        mode: File mode, as git writes it.
        kind: Object type; "blob" for files.
        object_id: Hash of the content.
        size: Size in bytes, or "BAD" for an object that the repository lacks.
    """

    path: str
    mode: str
    kind: str
    object_id: str
    size: str

    def check_plain(self, name: str) -> int:
        """Check that this is a plain file in the repository, and return its size in bytes.

        Raises:
            EntryError: if it is not.
        """
        if (self.mode, self.kind) != _PLAIN_FILE:
            raise EntryError(f"{name} is not a plain file: git's mode is {self.mode}")
        if not self.size.isdecimal():
            raise EntryError(f"{name} is not in the repository; fetch the branch again")
        return int(self.size)


class Branch:
    """A branch to be merged.

    Args:
        repository: Path of a git repository.
        base: Commit to merge into, as a hash or a name.
        head: Last commit of the branch, as a hash or a name.

    Attributes:
        base: Hash of the base commit.
        head: Hash of the head commit.

    Raises:
        UserError: if git does not know a commit, or the two have no common history.
        EntryError: if the changes of a merge cannot be determined from the branch.
    """

    def __init__(self, repository: Path, base: str, head: str) -> None:
        self._repository = repository
        # Resolved once: a name may move meanwhile, or look like an option of git.
        self.base, self.head = self._resolve(base), self._resolve(head)
        self._fork = self._find_fork()

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

    def _find_fork(self) -> str:
        """Return the commit where the branch left the base.

        With several merge bases, a comparison with one of them does not show what the merge
        reverts of the others.
        """
        forks = self._git("merge-base", "--all", self.base, self.head, may_be=(0, 1)).split()
        if not forks:
            raise UserError(
                "the two commits have no history in common here; if the clone is shallow, fetch "
                "with --unshallow"
            )
        if len(forks) > 1:
            raise EntryError(
                f"the branch left its base at {len(forks)} commits at once, so the changes of a "
                "merge cannot be determined; send the entry as one commit on top of the base"
            )
        return forks[0].decode()

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
