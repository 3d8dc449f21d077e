"""What is wrong with a recipe's settings, in a line of one's own in place of pydantic's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_type_hints

from pydantic import ValidationError

from ragen_bench.errors import nearest


def first_problem(recipe: type, error: ValidationError) -> str:
    """Return the first setting that cannot be, and why; for an unknown one, what may be meant.

    Args:
        recipe: the dataclass that was to be made.
        error: what came instead.
    """
    first = error.errors()[0]
    *tables, last = places = [str(part) for part in first["loc"]] or [""]
    name = ".".join(places) or "the recipe"
    if first["type"] == "unexpected_keyword_argument":
        return f"{name}: there is no such setting; {_instead(recipe, tables, last)}"
    return f"{name}: {first['msg'].removeprefix('Value error, ')}"


def _instead(recipe: type, tables: Sequence[str], name: str) -> str:
    """Return which settings there are in the place of an unknown one."""
    table = recipe
    for part in tables:
        table = _table(get_type_hints(table)[part])
    known = [field.name for field in fields(table)]
    meant = nearest(name, known)
    if meant:
        return f"did you mean {'.'.join([*tables, meant])}?"
    return f"{'.'.join(tables) or 'a recipe'} has: {', '.join(known)}"


def _table(hint: Any) -> type:
    """Return the dataclass of a setting that may be None."""
    return next(
        each for each in (hint, *get_args(hint)) if isinstance(each, type) and is_dataclass(each)
    )
