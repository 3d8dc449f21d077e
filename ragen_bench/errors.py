"""`UserError`, the exception that a user's mistake raises, and the exit codes."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

INTERRUPTED = 130
"""The exit code of a process that Ctrl-C ended."""

INCOMPLETE = 1
"""The exit code of a run in which a server left episodes unfinished."""


class UserError(Exception):
    """A mistake that the user can fix; the message says in one line what is wrong and what to do.

    The exit code is 2 for a wrong command line, 1 for later errors.
    """

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class MissingExtraError(UserError):
    """An optional package of this distribution is missing."""


def missing_extra(missing: ImportError, extra: str) -> MissingExtraError:
    """Return the error for a missing optional package, which an extra of this distribution has."""
    # transformers reports a missing dependency as the cause of its own error.
    while not missing.name and isinstance(missing.__cause__, ImportError):
        missing = missing.__cause__
    # The error of a broken installation names no package, but its message does.
    package = (missing.name or str(missing)).partition(".")[0]
    return MissingExtraError(
        f"this needs {package}: in a checkout pip install '.[{extra}]' "
        f"(after the first release: pip install 'ragen-bench[{extra}]')"
    )


def described(error: BaseException) -> str:
    """Return the type and the first line of a third-party exception."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name nearest to a mistyped one, ignoring case, or None."""
    lowered = {candidate.lower(): candidate for candidate in known}
    near = get_close_matches(name.lower(), lowered, n=1)
    return lowered[near[0]] if near else None


def unknown(what: str, name: str, known: Iterable[str], meant: str | None = None) -> UserError:
    """Return the error for an unknown name, with the nearest known name or all of them.

    `what` is the kind of the name, such as "suite"; `meant` is the nearest name, if the caller
    knows better.
    """
    names = list(known)
    meant = meant or nearest(name, names)
    hint = f"did you mean {meant}?" if meant else f"choose one of: {', '.join(names)}"
    return UserError(f"unknown {what} {name!r}; {hint}")
