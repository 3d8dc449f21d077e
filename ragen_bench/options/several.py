"""A file of models: the options of each, over those of the command."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from ragen_bench.errors import UserError, unknown
from ragen_bench.options.checked import options_of
from ragen_bench.options.groups import EvaluationOptions

_NAMES = tuple(field.name for field in fields(EvaluationOptions) if field.name != "model")


def models_of(file: Path, options: EvaluationOptions) -> list[EvaluationOptions]:
    """Return the options of each model of a file.

    The file is TOML: a table `[[model]]` has the `name` of a model, and whatever options of
    `evaluate` are its own, by their names with underscores.

    Args:
        file: of the models.
        options: of the command, for what a model does not say itself.

    Raises:
        UserError: if the file cannot be read, holds something else, names a model twice with the
            same options, or an option has a value that it cannot have.
    """
    found: list[EvaluationOptions] = []
    for number, table in enumerate(_tables(file), 1):
        where = f"{file}, model {number}"
        name = table.get("name")
        if not isinstance(name, str) or not name:
            raise UserError(f'{where}: has no name, as name = "hf/NAME"')
        own = {option: value for option, value in table.items() if option != "name"}
        for option in own:
            if option not in _NAMES:
                raise UserError(f"{where}: {unknown('option', option, _NAMES)}")
        given = {each: getattr(options, each) for each in _NAMES}
        try:
            model = options_of({**given, **own, "model": name})
        except UserError as error:
            raise UserError(f"{where}: {error}") from None
        if model in found:
            raise UserError(f"{where}: {name} is there already, with the same options")
        found.append(model)
    return found


def _tables(file: Path) -> list[Mapping[str, Any]]:
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}") from None
    except ValueError as error:  # TOML's, and that of bytes that are not UTF-8
        raise UserError(f"{file} is not TOML: {error}") from None
    tables = content.get("model")
    if set(content) != {"model"} or not isinstance(tables, list) or not tables:
        raise UserError(f"{file} lists no models: a [[model]] with a name for each, and no more")
    if not all(isinstance(table, dict) for table in tables):
        raise UserError(f"{file} lists no models: a [[model]] with a name for each, and no more")
    return tables
