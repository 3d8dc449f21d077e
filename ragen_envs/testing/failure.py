"""Outcomes of checks: failed, skipped, or an error turned into a failure."""

from __future__ import annotations

import traceback
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn

Status = Literal["passed", "failed", "skipped"]
_KIT = Path(__file__).parent


class Outcome(NamedTuple):
    """The outcome of the check of a name in `CHECKS`.

    The message is "" if it passed; else the observed mistake, or the reason for the skip.
    """

    name: str
    status: Status
    message: str = ""


class CheckFailed(AssertionError):  # noqa: N818
    """A check found a mistake; `outcomes` are those of all checks if `check_text_env` raised it."""

    def __init__(self, message: str, outcomes: tuple[Outcome, ...] = ()) -> None:
        super().__init__(message)
        self.outcomes = outcomes


class CheckSkipped(unittest.SkipTest):
    """A check lacks what it needs; test runners show it as a skipped test."""


class EnvironmentRaised(Exception):  # noqa: N818
    """A call of the environment raised; `what` is the call, with its seed and turn."""

    def __init__(self, what: str, error: Exception | SystemExit) -> None:
        super().__init__(f"{what} raised {described(error)}")
        self.what = what
        self.error = error


def failure(seen: str, mistake: str, remedy: str) -> CheckFailed:
    """Return the failure of a check: the observed fact with seed and turn, and its likely cause."""
    return CheckFailed(f"{seen}\n  Likely mistake: {mistake}\n  Remedy: {remedy}")


def fail(seen: str, mistake: str, remedy: str) -> NoReturn:
    """Fail a check, see `failure`."""
    raise failure(seen, mistake, remedy)


@contextmanager
def blaming(note: str, mistake: str, remedy: str) -> Iterator[None]:
    """Fail a check if the environment raises in a situation that the check caused."""
    try:
        yield
    except EnvironmentRaised as raised:
        raise failure(f"{raised} ({note})", mistake, remedy) from raised.error


def lacks(option: str, why: str) -> NoReturn:
    """Skip a check that lacks an option."""
    raise CheckSkipped(f"needs the option {option!r}: {why}")


def described(error: Exception | SystemExit) -> str:
    """Return an error's type, first line, and the line of code, outside the kit, that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    outside = [frame for frame in frames if _KIT not in Path(frame.filename).parents]
    text = shorten((str(error).splitlines() or [""])[0], 200)
    named = f"{type(error).__name__}: {text}" if text else type(error).__name__
    if not outside:
        return named
    at = outside[-1]
    return f"{named} ({Path(at.filename).name}:{at.lineno} in {at.name})"


def shorten(text: str, limit: int = 60) -> str:
    """Return the text, or its beginning with the number of characters left out."""
    return text if len(text) <= limit else f"{text[:limit]}... (+{len(text) - limit:,} characters)"


def quote(text: str, limit: int = 60) -> str:
    """Return the repr of a text, shortened before it is escaped."""
    rest = len(text) - limit
    return repr(text) if rest <= 0 else f"{text[:limit]!r}... (+{rest:,} characters)"
