"""The day of a run: chat templates that write the date write the same one in a whole run."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject

CLOCK = "strftime_now"
"""The function by which templates read the date."""


def today() -> str:
    """Return the date here, in ISO format."""
    return datetime.now().astimezone().date().isoformat()


def is_day(day: object) -> bool:
    """Return whether a value is a date in ISO format."""
    try:
        return isinstance(day, str) and bool(datetime.fromisoformat(day))
    except ValueError:
        return False


def format_day(day: str) -> Callable[[str], str]:
    """Return the clock of a template on a day in ISO format, at midnight."""
    return datetime.fromisoformat(day).strftime


def read_day(identity: JsonObject) -> str | None:
    """Return the day of a recorded run, or None if its template writes none.

    UserError if it is not a date.
    """
    day = identity.get("date")
    if day is not None and not is_day(day):
        raise UserError("the run's date is not a date, as 2026-01-31; choose another --out")
    return day
