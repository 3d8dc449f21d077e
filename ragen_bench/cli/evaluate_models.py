"""`evaluate --models FILE`: evaluates the models of a file, one after the other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from ragen_bench.errors import INTERRUPTED, UserError, unknown
from ragen_bench.json_types import JsonObject
from ragen_bench.reading import read_toml
from ragen_bench.runs.directory import read_run
from ragen_bench.scores.summary import read_summary
from ragen_bench.settings.build import build_evaluation
from ragen_bench.settings.options import EvaluationOptions, parse_options
from ragen_bench.settings.run_names import default_path
from ragen_bench.terminal.console import plain_console
from ragen_bench.terminal.results import players_table

_NAMES = tuple(field.name for field in fields(EvaluationOptions) if field.name != "model")


def read_models(file: Path, options: EvaluationOptions) -> list[EvaluationOptions]:
    """Return the options of each model of a TOML file; `options` are the defaults.

    A table `[[model]]` has the `name` of a model, and any options of `evaluate`, by their names
    with underscores. A UserError is raised if the file is not such a file, names a model twice with
    the same options, or an option has an invalid value.
    """
    models: list[EvaluationOptions] = []
    for number, table in enumerate(_read_tables(file), 1):
        where = f"{file}, model {number}"
        name = table.get("name")
        if not isinstance(name, str) or not name:
            raise UserError(f'{where}: has no name, as name = "hf/NAME"')
        overrides = {option: value for option, value in table.items() if option != "name"}
        for option in overrides:
            if option not in _NAMES:
                raise UserError(f"{where}: {unknown('option', option, _NAMES)}")
        defaults = {each: getattr(options, each) for each in _NAMES}
        try:
            model = parse_options({**defaults, **overrides, "model": name})
        except UserError as error:
            raise UserError(f"{where}: {error}") from None
        if model in models:
            raise UserError(f"{where}: {name} is listed twice with the same options; remove one")
        models.append(model)
    return models


def _read_tables(file: Path) -> list[JsonObject]:
    try:
        content = read_toml(file)
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}") from None
    tables = content.pop("model", None)
    has_tables = isinstance(tables, list) and all(isinstance(table, dict) for table in tables)
    if content or not tables or not has_tables:
        raise UserError(f"{file} lists no models; write a [[model]] with a name for each")
    return tables  # type: ignore[no-any-return]  # checked above


def evaluate_each(
    models: Sequence[EvaluationOptions], prices: Path | None, content: JsonObject
) -> int:
    """Evaluate each model in its own process, print one table of all, and fill in the document.

    The memory of a model, on a GPU too, is free when the next one starts. A failed model does not
    affect the others, and the same call resumes it. Returns the greatest exit code; an invalid
    option raises a UserError before any episode is played.
    """
    console = plain_console()
    paths = [default_path(build_evaluation(options)) for options in models]
    if len(set(paths)) < len(paths):
        raise UserError("two models of the file would share a run directory")
    codes = []
    for number, (options, path) in enumerate(zip(models, paths, strict=True), 1):
        console.print(f"Model {number} of {len(models)}: {options.model}", soft_wrap=True)
        code = subprocess.run(
            [sys.executable, "-m", "ragen_bench", *to_arguments(options, path, prices)], check=False
        ).returncode
        if code == INTERRUPTED:
            return INTERRUPTED
        codes.append(code)
    # One table for each group of runs that played the same instances.
    groups: dict[tuple[str, ...], list[JsonObject]] = {}
    found: dict[Path, JsonObject] = {}
    for path in paths:
        if (path / "run.json").is_file() and (summary := read_summary(read_run(path))):
            envs = (row["env"] for row in summary["envs"])
            groups.setdefault((summary["suite"], summary["split"], *envs), []).append(summary)
            found[path] = summary
    for summaries in groups.values():
        console.print(players_table(summaries))
    for options, code in zip(models, codes, strict=True):
        if code:
            line = f"{options.model} is not finished; the same command resumes it"
            console.print(line, soft_wrap=True)
    content["runs"] = [
        {"model": options.model, "run": str(path), "exit_code": code, "summary": found.get(path)}
        for options, path, code in zip(models, paths, codes, strict=True)
    ]
    return max(codes)


def to_arguments(options: EvaluationOptions, path: Path, prices: Path | None) -> list[str]:
    """Return the command line that evaluates one model, without the program's name."""
    words = ["evaluate", options.model]
    for field in fields(EvaluationOptions):
        value = getattr(options, field.name)
        if field.name == "model" or value == field.default:
            continue
        # After an equals sign a value may begin with a dash.
        name = f"--{field.name.replace('_', '-')}"
        if value is True:
            words.append(name)
        else:
            words += [f"{name}={each}" for each in (value if isinstance(value, tuple) else [value])]
    words.append(f"--out={path}")
    return words if prices is None else [*words, f"--prices={prices}"]
