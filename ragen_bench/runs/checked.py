"""Readers of untrusted JSON as records, with one-line errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from ragen_bench.environments import reply_counts
from ragen_bench.runs.differences import brief
from ragen_bench.runs.schema import LARGEST, EpisodeRecord, Fault, ReplyCounts, RunConfig, Timing
from ragen_envs.core.two_player import ReplyCount

T = TypeVar("T")
_REASONS = {
    "string_type": "is not a text",
    "string_unicode": "holds half a surrogate pair, which is not a text",
    "int_type": "is not a whole number",
    "bool_type": "is not true or false",
    **dict.fromkeys(("float_type", "finite_number"), "is not a number"),
    **dict.fromkeys(("list_type", "tuple_type"), "is not a list"),
    **dict.fromkeys(("dict_type", "model_type", "dataclass_type"), "is not an object"),
    **dict.fromkeys(("greater_than", "less_than"), "is too large"),
    **dict.fromkeys(("too_short", "string_too_short"), "is too short"),
    "string_too_long": "is too long",
}


class BadRecordError(ValueError):
    """An object that is not a record; the message gives the reason in one line."""


class Flaw(NamedTuple):
    """An error in a value, with its path, such as "turns[3].reward", and a description."""

    path: str
    value: str
    reason: str


def read_config(config: object) -> RunConfig:
    """Return the content of a run.json, or raise BadRecordError."""
    return read_record(RunConfig.model_validate, config)


def read_episode(line: object) -> EpisodeRecord:
    """Return the episode in a line of episodes.jsonl, or raise BadRecordError."""
    episode = read_record(_EPISODE.validate_python, line)
    # Already the first prompt may leave no room for a response, and the first request may fail.
    if not episode.turns and episode.outcome not in ("context_overflow", "given_up"):
        raise BadRecordError("has no turn")
    if problem := _counts_problem(episode.opponent, reply_counts(episode.env)):
        raise BadRecordError(problem)
    return episode


def first_flaw(error: ValidationError, reasons: dict[str, str] | None = None) -> Flaw:
    """Return the outermost error of a value, a missing field before others."""
    errors = error.errors(include_url=False)
    # A missing or extra field is an error of the enclosing object.
    outer = ("missing", "extra_forbidden")
    first = min(
        errors, key=lambda e: (len(e["loc"]) - (e["type"] in outer), e["type"] != "missing")
    )
    kind, inside = first["type"], first["loc"]
    if kind == "missing":
        absent = [e["loc"] for e in errors if e["type"] == "missing"]
        names = [str(loc[-1]) for loc in absent if loc[:-1] == inside[:-1]]
        return Flaw(_path(inside[:-1]), "", f"lacks {', '.join(names)}")
    if kind == "extra_forbidden":
        return Flaw(_path(inside[:-1]), "", f"has the unknown field {brief(inside[-1])}")
    return Flaw(_path(inside), brief(first["input"]), _reason(first, reasons or {}))


def read_record(read: Callable[[object], T], value: object) -> T:
    """Return the record in a JSON value, or raise BadRecordError."""
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
    path = ""
    for key in keys:
        if isinstance(key, int):
            path += f"[{key}]"
        else:
            is_plain = key.isascii() and key.isidentifier() and len(key) < 40
            path += f".{key if is_plain else brief(key)}"
    return path.removeprefix(".")


_EPISODE = TypeAdapter(EpisodeRecord)
read_timing = partial(read_record, TypeAdapter(Timing).validate_python)
read_fault = partial(read_record, TypeAdapter(Fault).validate_python)
"""Readers of the lines of timings.jsonl and faults.jsonl; they raise BadRecordError."""
