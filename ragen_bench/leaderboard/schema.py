"""Whether the content of entry.json has the published form."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any

from ragen_bench.errors import missing_extra
from ragen_bench.runs.differences import brief

try:
    from jsonschema import Draft202012Validator, ValidationError
    from jsonschema.validators import extend
except ImportError as missing:
    raise missing_extra(missing, "bench") from missing

SCHEMA = 1
_SAID = {
    "enum": "is not among the possible values",
    "const": "is not the value that it must have",
    "type": "is of the wrong type",
    "pattern": "has not the form that it must have",
    "not": "holds characters that are not shown, or not allowed here",
    "minLength": "is too short",
    "maxLength": "is too long",
    "minItems": "is too short",
    "maxItems": "is too long",
    "maxProperties": "has too many fields",
    "minimum": "is too small",
}
_FORMS = {
    r"^\S": "begins with a space",
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}$": "is not of the form YYYY-MM-DD",
    "^https?://[A-Za-z0-9]": "is no address that begins with http:// or https://",
}
"""What is wrong with a text that does not have a pattern of the schema."""

_WHOLE = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
_VALIDATOR = extend(Draft202012Validator, type_checker=_WHOLE)
"""Stricter than JSON Schema, for which 1.0 is an integer: a count has one way to be written."""


@cache
def entry_schema() -> Any:
    """Return the JSON Schema (draft 2020-12) of entry.json, which leaderboard/ publishes."""
    text = files("ragen_bench.leaderboard").joinpath("entry.schema.json").read_text("utf-8")
    return json.loads(text)


def entry_problem(entry: Any) -> str | None:
    """Return the first field of an entry.json that is not as the schema has it, and why, or None.

    Args:
        entry: any JSON value.
    """
    problem = _problem(entry, entry_schema())
    if problem:
        return problem
    try:
        json.dumps(entry, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "holds half a surrogate pair, which is no text"
    return _date_problem(entry["date"])


def about_problem(about: dict[str, Any]) -> str | None:
    """Return the same for what the submitter says alone: name, date and so on."""
    known = entry_schema()["properties"]
    fields = {"properties": {name: known[name] for name in about}}
    return _problem(about, fields) or _date_problem(about["date"])


def _problem(value: Any, schema: Any) -> str | None:
    error = next(_VALIDATOR(schema).iter_errors(value), None)
    if error is None:
        return None
    while error.validator == "anyOf":  # null or something else: that is what was meant
        error = next(each for each in error.context if each.schema_path[0] == 1)
    return f"{_path(error.absolute_path)}{_reason(error)}"


def _date_problem(given: str | None) -> str | None:
    try:
        date.fromisoformat(given or "2000-01-01")
    except ValueError:
        return f"date: {brief(given)} is no day"
    return None


def _path(keys: Iterable[str | int]) -> str:
    shown = [f"[{key}]" if isinstance(key, int) else f".{_key(key)}" for key in keys]
    path = "".join(shown).removeprefix(".")
    return f"{path}: " if path else ""


def _key(key: str) -> str:
    return key if key.isascii() and key.isidentifier() and len(key) < 40 else brief(key)


def _reason(error: ValidationError) -> str:
    if error.validator == "required":
        return f"lacks {next(name for name in error.validator_value if name not in error.instance)}"
    if error.validator == "additionalProperties":
        unknown = next(name for name in error.instance if name not in error.schema["properties"])
        return f"has the unknown field {brief(unknown)}"
    form = _FORMS.get(error.validator_value) if error.validator == "pattern" else None
    return f"{brief(error.instance)} {form or _SAID[error.validator]}"
