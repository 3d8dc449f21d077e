"""The one exception that a user's mistake raises, and the exit codes."""

INTERRUPTED = 130
"""The exit code of a process that Ctrl-C ended."""

INCOMPLETE = 1
"""The exit code of a run in which a server left episodes unfinished."""


class UserError(Exception):
    """Something that the user can mend; its message is one line that says how.

    Args:
        message: what is wrong and what is possible.
        exit_code: 2 for a wrong command line, 1 for what went wrong later.
    """

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def missing_extra(missing: ImportError, extra: str) -> UserError:
    """Return what to raise where an optional package is missing.

    Args:
        missing: what the import raised.
        extra: the extra of this distribution that has the package.
    """
    # The name is that of the package; without one, as of a broken installation, the message tells.
    package = (missing.name or str(missing)).partition(".")[0]
    return UserError(
        f"this needs {package}: pip install 'ragen-bench[{extra}]' "
        f"(in a checkout: pip install '.[{extra}]')"
    )


def described(error: BaseException) -> str:
    """Return the type and the first line of an exception that is not our own."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
