"""Error lines of a recipe: the first setting that cannot be, and why, in place of pydantic's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from ragen_bench.errors import nearest

_BOUNDS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal", "finite_number")
"""pydantic's names of errors that are about a bound."""


def first_problem(recipe: type, error: ValidationError) -> str:
    """Return the first setting that cannot be, and why; for an unknown one, what may be meant.

    Args:
        recipe: the dataclass that was to be made.
        error: what came instead.
    """
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    name, message = ".".join(path), first["msg"].removeprefix("Value error, ")
    if not path:
        return message if first["type"] == "value_error" else f"the recipe: {message}"
    if first["type"] == "unexpected_keyword_argument":
        return f"{name}: there is no such setting; {_instead(recipe, path[:-1], path[-1])}"
    if first["type"] in _BOUNDS:
        names = [part for part in first["loc"] if isinstance(part, str)]
        bounds = _bounds(recipe, names)
        # A number is shown in the kind of its bound, as 0.0 for a temperature of 0.
        kind = next((type(bound) for bound in first.get("ctx", {}).values()), float)
        return f"{name}: is {bounds}, got {kind(first['input'])}"
    return f"{name}: {message}"


def _bounds(recipe: type, names: Sequence[str]) -> str:
    """Return the bounds of a setting in words: the description beside them.

    Args:
        recipe: the dataclass.
        names: of its tables and the setting, and of a number within it where that is a table.
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


def _instead(recipe: type, tables: Sequence[str], name: str) -> str:
    """Return which settings there are in the place of an unknown one."""
    known = [field.name for field in fields(_section(recipe, tables))]
    meant = nearest(name, known)
    if meant:
        return f"did you mean {'.'.join([*tables, meant])}?"
    return f"{'.'.join(tables) or 'a recipe'} has: {', '.join(known)}"


def _section(recipe: type, tables: Sequence[str]) -> type:
    """Return the dataclass of a table; that of a setting that may be None, too."""
    section = recipe
    for table in tables:
        section = _dataclass_in(get_type_hints(section)[table]) or section
    return section


def _dataclass_in(hint: Any) -> type | None:
    """Return the dataclass of a table's type, also of one that may be None."""
    kinds = (kind for kind in (hint, *get_args(hint)) if isinstance(kind, type))
    return next((kind for kind in kinds if is_dataclass(kind)), None)
