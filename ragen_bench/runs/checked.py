"""Readers of untrusted JSON as records, with errors of one line."""

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
    """An object that is not a record; the message says why, in one line."""


class Flaw(NamedTuple):
    """What is wrong with a value.

    Attributes:
        path: of what is wrong in the value, such as "turns[3].reward"; "" for the value itself.
        value: what stands there, shortened; "" where that does not matter.
        reason: what is wrong with it.
    """

    path: str
    value: str
    reason: str


def read_config(config: Any) -> RunConfig:
    """Return the content of a run.json.

    Raises:
        BadRecordError: if no run can have it.
    """
    return read_record(RunConfig.model_validate, config)


def read_episode(line: Any) -> EpisodeRecord:
    """Return the episode that a line of episodes.jsonl holds.

    Raises:
        BadRecordError: if it does not hold one.
    """
    episode = read_record(_EPISODE.validate_python, line)
    # The first prompt may leave no room for an answer already.
    if not episode.turns and episode.outcome != "context_overflow":
        raise BadRecordError("has no turn")
    if problem := _counts_problem(episode.opponent, reply_counts(episode.env)):
        raise BadRecordError(problem)
    return episode


def read_timing(line: Any) -> Timing:
    """Return what a line of timings.jsonl holds.

    Raises:
        BadRecordError: if it holds no timing.
    """
    return read_record(_TIMING.validate_python, line)


def read_fault(line: Any) -> Fault:
    """Return what a line of faults.jsonl holds.

    Raises:
        BadRecordError: if it holds no fault.
    """
    return read_record(_FAULT.validate_python, line)


def first_flaw(error: ValidationError, reasons: dict[str, str] | None = None) -> Flaw:
    """Return what is wrong with a value: its outermost flaw, a missing field before the others.

    Args:
        error: what pydantic raised.
        reasons: what to say of values that do not match a pattern, by the pattern.
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
    """Return what a JSON value holds, as pydantic reads it.

    Raises:
        BadRecordError: if it does not hold that.
    """
    try:
        return read(value)
    except ValidationError as error:
        path, shown, reason = first_flaw(error)
    inside = " ".join(filter(None, (path, shown)))
    raise BadRecordError(f"has {inside}, which {reason}" if path else reason)


def _counts_problem(recorded: ReplyCounts | None, counts: Sequence[ReplyCount]) -> str | None:
    """Return what is wrong with the counts of an opponent's replies, where a game has them."""
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
    # What is missing, or too much, is a flaw of the object around it.
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
