"""Error lines for invalid recipes, in place of pydantic's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import get_args, get_type_hints

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from ragen_bench.errors import nearest

_BOUNDS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal", "finite_number")
"""pydantic's error types for a bound."""


def describe_error(recipe: type, error: ValidationError) -> str:
    """Describe the first invalid setting of a dataclass; for an unknown one, suggest another."""
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    name, message = ".".join(path), first["msg"].removeprefix("Value error, ")
    if not path:
        return message if first["type"] == "value_error" else f"the recipe: {message}"
    if first["type"] == "unexpected_keyword_argument":
        return f"{name}: there is no such setting; {_suggest(recipe, path[:-1], path[-1])}"
    if first["type"] in _BOUNDS:
        names = [part for part in first["loc"] if isinstance(part, str)]
        bounds = _bounds(recipe, names)
        # Format the number like its bound: 0.0 for a temperature of 0.
        kind = next((type(bound) for bound in first.get("ctx", {}).values()), float)
        return f"{name}: is {bounds}, got {kind(first['input'])}"
    return f"{name}: {message}"


def _bounds(recipe: type, names: Sequence[str]) -> str:
    """Return the description of the bounds of a setting, or of the numbers in a table."""
    section = recipe
    for name in names:
        hint = get_type_hints(section, include_extras=True)[name]
        inner = _dataclass_in(hint)
        if inner is None:
            break
        section = inner
    return next(info.description for info in _field_infos(hint) if info.description)


def _field_infos(hint: object) -> Iterator[FieldInfo]:
    for metadata in getattr(hint, "__metadata__", ()):
        if isinstance(metadata, FieldInfo):
            yield metadata
    for inner in get_args(hint):
        yield from _field_infos(inner)


def _suggest(recipe: type, tables: Sequence[str], name: str) -> str:
    """Suggest a known setting for an unknown one."""
    section = recipe
    for table in tables:
        section = _dataclass_in(get_type_hints(section)[table]) or section
    known = [field.name for field in fields(section)]
    meant = nearest(name, known)
    if meant:
        return f"did you mean {'.'.join([*tables, meant])}?"
    return f"{'.'.join(tables) or 'a recipe'} has: {', '.join(known)}"


def _dataclass_in(hint: object) -> type | None:
    """Return the dataclass in a type hint."""
    kinds = (kind for kind in (hint, *get_args(hint)) if isinstance(kind, type))
    return next((kind for kind in kinds if is_dataclass(kind)), None)
