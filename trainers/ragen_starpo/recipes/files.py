"""Settings of a recipe by its name: a TOML file, which may build on another, or rows at a scale."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

from ragen_bench.errors import UserError, unknown

Settings: TypeAlias = dict[str, Any]
"""Tables as dictionaries."""
RECIPES = Path(__file__).parent
"""The recipes that come with the package."""
_ALONE = RECIPES / "alone"
_SWEEPS = "sweeps"


def settings_of(name: str) -> Settings:
    """Return the settings of a recipe.

    Args:
        name: the path of a TOML file, or a recipe of the package: a scale as `small`, rows of
            `sweeps.toml` at a scale as `filter-50@small` and `grpo+filter-50@small`, or one that
            stands for itself as `demo-sokoban`. A file's
            `base` is such a name too, a path counting from the file; its own settings replace those
            of the base.

    Raises:
        UserError: if the recipe does not exist, or is not a TOML file.
    """
    return _settings(name, Path(), ())


def scales() -> list[str]:
    """Return the names of the package's base files, which rows build on."""
    return sorted(path.stem for path in RECIPES.glob("*.toml") if path.stem != _SWEEPS)


def alone() -> list[str]:
    """Return the names of the package's recipes that rows do not build on."""
    return sorted(path.stem for path in _ALONE.glob("*.toml"))


def sweeps() -> dict[str, Settings]:
    """Return the groups of rows by name: `about`, `rows`, and what all rows of a group share."""
    return _toml(RECIPES / f"{_SWEEPS}.toml")


def override(settings: Settings, given: str) -> None:
    """Replace one setting.

    Args:
        settings: is changed.
        given: `name=value` or `table.name=value`, the value as TOML has it or a bare text.

    Raises:
        UserError: if it does not have this form.
    """
    name, equals, value = given.partition("=")
    if not equals or not name:
        raise UserError(f"{given!r} is not a setting; give name=value, as rollouts.samples=8")
    *tables, last = name.split(".")
    table = settings
    for part in tables:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise UserError(f"{given!r}: {part} is not a table")
    table[last] = _value(value)


def as_toml(settings: Settings) -> str:
    """Return settings as a recipe file, without those that are None, which a file cannot say."""
    plain = {k: v for k, v in settings.items() if v is not None and not isinstance(v, dict)}
    lines = [f"{name} = {_written(value)}" for name, value in plain.items()]
    for name, table in settings.items():
        if isinstance(table, dict):
            rows = [
                f"{key} = {_written(value)}" for key, value in table.items() if value is not None
            ]
            lines += ["", f"[{name}]", *rows]
    return "\n".join(lines) + "\n"


def _written(value: Any) -> str:
    """Return a text, number, truth value, list or table of these as TOML has it."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_written(k)} = {_written(v)}' for k, v in value.items())}}}"
    if value in (math.inf, -math.inf):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def _settings(name: str, beside: Path, seen: tuple[str, ...]) -> Settings:
    if name in alone():
        return _of_file(_ALONE / f"{name}.toml", seen)
    path = beside / name
    if name not in scales() and (path.suffix == ".toml" or path.is_file()):
        return _of_file(path, seen)
    rows, at, scale = name.rpartition("@")
    if scale not in scales():
        if not at:
            raise UserError(
                f"there is no recipe {name}; give a TOML file, or one that `ragen-train recipes` "
                "lists"
            )
        raise unknown("scale", scale, scales())
    settings = _of_file(RECIPES / f"{scale}.toml", seen)
    for change in _changes(rows.split("+") if at else []):
        override(settings, change)
    return settings


def _of_file(path: Path, seen: tuple[str, ...]) -> Settings:
    """Return a file's settings on top of those of its base."""
    place = str(path.resolve())
    if place in seen:
        raise UserError(f"{path} builds on itself; remove a base")
    settings = _toml(path)
    base = settings.pop("base", None)
    if base is None:
        return settings
    if not isinstance(base, str):
        raise UserError(f"{path}: base: is the name of a recipe, got {base!r}")
    return _merged(_settings(base, path.parent, (*seen, place)), settings)


def _toml(path: Path) -> Settings:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError):
        raise UserError(f"there is no recipe {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not a TOML file: {error}") from None


def _changes(rows: Iterable[str]) -> list[str]:
    """Return what rows replace, in their order."""
    groups = sweeps().values()
    of = {row: (group, own) for group in groups for row, own in group["rows"].items()}
    changes: list[str] = []
    for row in rows:
        if row not in of:
            raise unknown("row", row, of)
        group, own = of[row]
        changes += [*group.get("shared", []), *own]
    return changes


def _merged(base: Settings, own: Settings) -> Settings:
    """Return the base with its settings replaced, table by table."""
    merged = dict(base)
    for name, value in own.items():
        there = base.get(name)
        both = isinstance(value, dict) and isinstance(there, dict)
        merged[name] = _merged(there, value) if both and there else value
    return merged


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
