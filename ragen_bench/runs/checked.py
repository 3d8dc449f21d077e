"""Readers of untrusted JSON as records, with one-line errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from ragen_bench.runs.differences import brief
from ragen_bench.runs.schema import (
    LARGEST,
    EpisodeRecord,
    Fault,
    ReplyCounts,
    RunConfig,
    Timing,
)
from ragen_bench.two_player import reply_counts
from ragen_envs.core.two_player import ReplyCount

T = TypeVar("T")
_REASONS = {
    "string_type": "is not a text",
    "string_unicode": "holds half a surrogate pair, which is not a text",
    "int_type": "is not a whole number",
    "float_type": "is not a number",
    "finite_number": "is not a number",
    "bool_type": "is not true or false",
    "list_type": "is not a list",
    "tuple_type": "is not a list",
    "dict_type": "is not an object",
    "model_type": "is not an object",
    "dataclass_type": "is not an object",
    "greater_than": "is too large",
    "less_than": "is too large",
    "too_short": "is too short",
    "string_too_short": "is too short",
    "string_too_long": "is too long",
}


class BadRecordError(ValueError):
    """An object that is not a record; the message gives the reason in one line."""


class Flaw(NamedTuple):
    """An error in a value.

    Attributes:
        path: Path of the error, such as "turns[3].reward"; "" for the value itself.
        value: Shortened value at the path; "" where it does not matter.
        reason: Description of the error.
    """

    path: str
    value: str
    reason: str


def read_config(config: Any) -> RunConfig:
    """Return the content of a run.json.

    Raises:
        BadRecordError: If the content is not valid.
    """
    return read_record(RunConfig.model_validate, config)


def read_episode(line: Any) -> EpisodeRecord:
    """Return the episode in a line of episodes.jsonl.

    Raises:
        BadRecordError: If the line is not an episode.
    """
    episode = read_record(_EPISODE.validate_python, line)
    # Already the first prompt may leave no room for a response.
    if not episode.turns and episode.outcome != "context_overflow":
        raise BadRecordError("has no turn")
    if problem := _counts_problem(episode.opponent, reply_counts(episode.env)):
        raise BadRecordError(problem)
    return episode


def read_timing(line: Any) -> Timing:
    """Return the timing in a line of timings.jsonl.

    Raises:
        BadRecordError: If the line is not a timing.
    """
    return read_record(_TIMING.validate_python, line)


def read_fault(line: Any) -> Fault:
    """Return the fault in a line of faults.jsonl.

    Raises:
        BadRecordError: If the line is not a fault.
    """
    return read_record(_FAULT.validate_python, line)


def first_flaw(error: ValidationError, reasons: dict[str, str] | None = None) -> Flaw:
    """Return the outermost error of a value, a missing field before others.

    Args:
        error: Error of pydantic.
        reasons: Descriptions of values that do not match a pattern, by the pattern.
    """
    errors = error.errors(include_url=False)
    first = min(errors, key=lambda flaw: (_depth(flaw), flaw["type"] != "missing"))
    kind, inside = first["type"], first["loc"]
    if kind == "missing":
        names = [str(flaw["loc"][-1]) for flaw in errors if _is_missing_beside(flaw, first)]
        return Flaw(_path(inside[:-1]), "", f"lacks {', '.join(names)}")
    if kind == "extra_forbidden":
        return Flaw(_path(inside[:-1]), "", f"has the unknown field {brief(inside[-1])}")
    return Flaw(_path(inside), brief(first["input"]), _reason(first, reasons or {}))


def read_record(read: Callable[[Any], T], value: Any) -> T:
    """Return the record in a JSON value.

    Raises:
        BadRecordError: If the value is not such a record.
    """
    try:
        return read(value)
    except ValidationError as error:
        path, shown, reason = first_flaw(error)
    inside = " ".join(filter(None, (path, shown)))
    raise BadRecordError(f"has {inside}, which {reason}" if path else reason)


def _counts_problem(recorded: ReplyCounts | None, counts: Sequence[ReplyCount]) -> str | None:
    """Return the error in the counts of an opponent's replies, where a game has them."""
    if not counts:
        return None
    numbers = recorded.model_extra if recorded else None
    if numbers is None:
        return "lacks opponent"
    for count in counts:
        number = numbers.get(count.name)
        if type(number) is not int or not 0 <= number < LARGEST:
            return f"has opponent.{count.name} {brief(number)}, which is not a number of replies"
    # The parts of a count exclude one another.
    for whole in counts:
        parts = sum(numbers[part.name] for part in counts if part.part_of == whole.name)
        if parts > numbers[whole.name]:
            return f"has opponent.{whole.name} {numbers[whole.name]}, which is less than its parts"
    return None


def _depth(error: ErrorDetails) -> int:
    # A missing or extra field is an error of the enclosing object.
    return len(error["loc"]) - (error["type"] in ("missing", "extra_forbidden"))


def _is_missing_beside(error: ErrorDetails, first: ErrorDetails) -> bool:
    return error["type"] == "missing" and error["loc"][:-1] == first["loc"][:-1]


def _reason(error: ErrorDetails, reasons: dict[str, str]) -> str:
    kind, limits = error["type"], error.get("ctx", {})
    if kind == "literal_error":
        return f"is not {limits['expected']}"
    if kind == "greater_than" and limits["gt"] > -LARGEST:
        return f"is not above {limits['gt']:g}"
    if kind == "greater_than_equal":
        return f"is below {limits['ge']:g}"
    if kind == "less_than_equal" and error["loc"][-1] == "schema":
        return "only a newer ragen-bench reads (install one)"
    if kind == "less_than_equal":
        return f"is above {limits['le']:g}"
    if kind == "too_long":
        return "has too many fields" if limits["field_type"] == "Dictionary" else "is too long"
    if kind == "string_pattern_mismatch":
        return reasons.get(limits["pattern"], "has not the form that it must have")
    return _REASONS.get(kind) or error["msg"]


def _path(keys: Sequence[str | int]) -> str:
    shown = [f"[{key}]" if isinstance(key, int) else f".{_key(key)}" for key in keys]
    return "".join(shown).removeprefix(".")


def _key(key: str) -> str:
    return key if key.isascii() and key.isidentifier() and len(key) < 40 else brief(key)


_EPISODE, _TIMING, _FAULT = TypeAdapter(EpisodeRecord), TypeAdapter(Timing), TypeAdapter(Fault)
