"""Error lines for invalid recipes, in place of pydantic's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from ragen_bench.errors import nearest

_BOUNDS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal", "finite_number")
"""pydantic's error types for a bound."""


def describe_error(recipe: type, error: ValidationError) -> str:
    """Describe the first invalid setting; for an unknown one, suggest another.

    Args:
        recipe: The dataclass that was validated.
        error: The validation error.
    """
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
    """Return the description of a setting's bounds.

    Args:
        recipe: The dataclass.
        names: The tables, the setting, and a number within it if it is a table.
    """
    section = recipe
    for name in names:
        hint = get_type_hints(section, include_extras=True)[name]
        inner = _dataclass_in(hint)
        if inner is None:
            break
        section = inner
    return next(info.description for info in _field_infos(hint) if info.description)


def _field_infos(hint: Any) -> Iterator[FieldInfo]:
    for metadata in getattr(hint, "__metadata__", ()):
        if isinstance(metadata, FieldInfo):
            yield metadata
    for inner in get_args(hint):
        yield from _field_infos(inner)


def _suggest(recipe: type, tables: Sequence[str], name: str) -> str:
    """Suggest a known setting for an unknown one."""
    known = [field.name for field in fields(_section(recipe, tables))]
    meant = nearest(name, known)
    if meant:
        return f"did you mean {'.'.join([*tables, meant])}?"
    return f"{'.'.join(tables) or 'a recipe'} has: {', '.join(known)}"


def _section(recipe: type, tables: Sequence[str]) -> type:
    """Return the dataclass of a table, also if the table is optional."""
    section = recipe
    for table in tables:
        section = _dataclass_in(get_type_hints(section)[table]) or section
    return section


def _dataclass_in(hint: Any) -> type | None:
    """Return the dataclass in a type hint."""
    kinds = (kind for kind in (hint, *get_args(hint)) if isinstance(kind, type))
    return next((kind for kind in kinds if is_dataclass(kind)), None)
