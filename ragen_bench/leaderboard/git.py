"""The changes of a branch, read from git's objects alone."""

from __future__ import annotations

import subprocess
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.leaderboard.errors import EntryError

# Plumbing, which no setting of the user's changes: `diff.relative` hides paths from `git diff`. A
# .gitmodules in the working tree can hide submodules from both.
_CHANGES = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--ignore-submodules=none")


class _GitError(UserError):
    """A failure of git, with the first line of its message in `message`."""

    def __init__(self, command: str, message: str) -> None:
        super().__init__(f"git {command} failed: {message}")
        self.message = message


class Branch:
    """A branch that is to be merged.

    Args:
        repository: a git repository.
        base: what it is to be merged into: a commit, or the name of one.
        head: the same of the branch's last commit.

    Attributes:
        base: the commit's hash.
        head: the same.

    Raises:
        UserError: if git does not know a commit, or the two have no history in common.
        EntryError: if what merging would change cannot be read off the branch.
    """

    def __init__(self, repository: Path, base: str, head: str) -> None:
        self._repository = repository
        # Names are looked up once: one could be moved meanwhile, or look like an option of git.
        self.base, self.head = self._commit(base), self._commit(head)
        self._fork = self._forked()

    def changed(self) -> list[str]:
        """Return the paths that the branch changes."""
        return self._listing(*_CHANGES, self._fork, self.head)

    def changed_since(self, *paths: str) -> bool:
        """Return whether the base has changed any of these paths since the branch left it."""
        return bool(self._listing(*_CHANGES, self._fork, self.base, "--", *paths))

    def listed(self, commit: str, path: str) -> list[str]:
        """Return what a commit holds at a path, or below one that ends in a slash.

        Returns:
            Lines of mode, kind, object id and size, a tab, and the file's path.
        """
        return self._listing("ls-tree", "-r", "-l", "-z", "--full-tree", commit, "--", path)

    def content(self, object_id: str) -> bytes:
        """Return the bytes of a file."""
        return self._git("cat-file", "blob", object_id)

    def _commit(self, name: str) -> str:
        wanted = "rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}"
        try:
            return self._git(*wanted).decode().strip()
        except _GitError as error:
            raise UserError(
                f"git finds no commit {name!r} here ({error.message}); give a branch or a hash "
                "that has been fetched"
            ) from None

    def _forked(self) -> str:
        """Return where the branch left the base.

        With more than one such commit, changes from one of them to the branch do not show what
        merging takes back of the others.
        """
        forks = self._git("merge-base", "--all", self.base, self.head, may_be=(0, 1)).split()
        if not forks:
            raise UserError(
                "the two commits have no history in common here; if the clone is shallow, fetch "
                "with --unshallow"
            )
        if len(forks) > 1:
            raise EntryError(
                f"the branch left its base at {len(forks)} commits at once, so that it cannot be "
                "seen what merging it changes; send the entry as one commit on top of the base"
            )
        return forks[0].decode()

    def _listing(self, *arguments: str) -> list[str]:
        # A name that is not UTF-8 must not end the check; it is in no entry.
        listing = self._git(*arguments).split(b"\0")
        return [name.decode(errors="backslashreplace") for name in listing if name]

    def _git(self, *arguments: str, may_be: tuple[int, ...] = (0,)) -> bytes:
        # Replaced objects would be verified, and the replaced ones merged.
        command = ["git", "--no-replace-objects", "-C", str(self._repository), *arguments]
        try:
            process = subprocess.run(command, capture_output=True, check=False)
        except FileNotFoundError:
            raise UserError("git is not installed, and a branch is read with it") from None
        if process.returncode not in may_be:
            errors = process.stderr.decode(errors="replace").strip().splitlines()
            raise _GitError(arguments[0], errors[0] if errors else "it said nothing")
        return process.stdout
