"""Recipes as settings by name: TOML files, which may have a base, and rows at a scale."""

from __future__ import annotations

import json
import math
from pathlib import Path

from ragen_bench.errors import UserError, nearest, unknown
from ragen_bench.json_types import JsonObject
from ragen_bench.reading import parse_toml, read_toml

RECIPES = Path(__file__).parent
"""The recipes of the package."""
_ALONE = RECIPES / "alone"
_SWEEPS = "sweeps"


def read_settings(name: str) -> JsonObject:
    """Read the settings of a recipe; UserError if it does not exist or is not a TOML file.

    The name is the path of a TOML file, or a recipe of the package: a scale such as `small`;
    rows of `sweeps.toml` at a scale, such as `grpo+filter-50@small`; or a preset such as
    `demo-sokoban`. A file's `base` is such a name too, with paths relative to the file; its own
    settings replace the base's.
    """
    return _resolve(name, Path(), ())


def scales() -> list[str]:
    """Return the names of the base files that rows build on."""
    return sorted(path.stem for path in RECIPES.glob("*.toml") if path.stem != _SWEEPS)


def presets() -> list[str]:
    """Return the names of the recipes without rows."""
    return sorted(path.stem for path in _ALONE.glob("*.toml"))


def sweeps() -> dict[str, JsonObject]:
    """Return groups of rows by name: `about`, `rows`, and settings that rows share as `shared`."""
    return _load_toml(RECIPES / f"{_SWEEPS}.toml")


def override(settings: JsonObject, given: str) -> None:
    """Replace one setting in place by `name=value` or `table.name=value`, of TOML or plain text."""
    name, equals, value = given.partition("=")
    if not equals or not name:
        raise UserError(f"{given!r} is not a setting; give name=value, as rollouts.samples=8")
    *tables, last = name.split(".")
    table = settings
    for part in tables:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise UserError(f"{given!r}: {part} is not a table")
    try:
        table[last] = parse_toml(f"value = {value}")["value"]
    except ValueError:
        table[last] = value


def as_toml(settings: JsonObject) -> str:
    """Return settings as a recipe file, without None, which TOML lacks."""
    plain = {k: v for k, v in settings.items() if v is not None and not isinstance(v, dict)}
    lines = _format_rows(plain)
    for name, table in settings.items():
        if isinstance(table, dict):
            lines += ["", f"[{name}]", *_format_rows(table)]
    return "\n".join(lines) + "\n"


def _format_rows(table: JsonObject) -> list[str]:
    return [f"{key} = {_format_value(v)}" for key, v in table.items() if v is not None]


def _format_value(value: object) -> str:
    """Return a string, number, boolean, list or table as TOML."""
    if isinstance(value, dict):
        rows = (f"{_format_value(key)} = {_format_value(item)}" for key, item in value.items())
        return f"{{{', '.join(rows)}}}"
    if value in (math.inf, -math.inf):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def _resolve(name: str, beside: Path, seen: tuple[str, ...]) -> JsonObject:
    if name in presets():
        return _read_file(_ALONE / f"{name}.toml", seen)
    path = beside / name
    if name not in scales() and (path.suffix == ".toml" or path.is_file()):
        return _read_file(path, seen)
    rows, at, scale = name.rpartition("@")
    if scale not in scales():
        if not at:
            raise UserError(f"there is no recipe {name}; {_suggest(path)}")
        raise unknown("scale", scale, scales())
    settings = _read_file(RECIPES / f"{scale}.toml", seen)
    groups = sweeps().values()
    of = {row: (group, own) for group in groups for row, own in group["rows"].items()}
    for row in rows.split("+") if at else []:
        if row not in of:
            raise unknown("row", row, of)
        group, own = of[row]
        for change in (*group.get("shared", []), *own):
            override(settings, change)
    return settings


def _suggest(path: Path) -> str:
    """Return what was meant by a name that is no recipe, or what there is."""
    rows = [row for group in sweeps().values() for row in group["rows"]]
    files = [str(file) for file in path.parent.glob("*.toml")]
    meant = nearest(str(path), [*presets(), *scales(), *rows, *files])
    if meant is None:
        return "give a TOML file, or one that `ragen-train recipes` lists"
    return f"did you mean {meant}{'@small' if meant in rows else ''}?"


def _read_file(path: Path, seen: tuple[str, ...]) -> JsonObject:
    place = str(path.resolve())
    if place in seen:
        raise UserError(f"{path} builds on itself; remove a base")
    settings = _load_toml(path)
    base = settings.pop("base", None)
    if base is None:
        return settings
    if not isinstance(base, str):
        raise UserError(f"{path}: base: is the name of a recipe, got {base!r}")
    return _merge(_resolve(base, path.parent, (*seen, place)), settings)


def _load_toml(path: Path) -> JsonObject:
    try:
        return read_toml(path)
    except (FileNotFoundError, IsADirectoryError):
        raise UserError(f"there is no recipe {path}") from None


def _merge(base: JsonObject, own: JsonObject) -> JsonObject:
    merged = dict(base)
    for name, value in own.items():
        there = base.get(name)
        both = isinstance(value, dict) and isinstance(there, dict)
        merged[name] = _merge(there, value) if both and there else value
    return merged
