"""Evaluations of several models, one after the other, and the table of all."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from rich.console import Console

from ragen_bench.console.plain import plain_console
from ragen_bench.console.summary import players_table
from ragen_bench.errors import INTERRUPTED, UserError
from ragen_bench.options.evaluation import evaluation_of
from ragen_bench.options.groups import EvaluationOptions
from ragen_bench.options.naming import default_path
from ragen_bench.runs.directory import read_run
from ragen_bench.runs.schema import Object
from ragen_bench.scores.summary import written_summary


def evaluate_each(models: Sequence[EvaluationOptions], prices: Path | None) -> int:
    """Evaluate each model in a process of its own, and print one table of all.

    What a model held, of a GPU too, is free when the next one begins. One that fails keeps the
    others from nothing, and the same call goes on with it.

    Args:
        models: the options of each.
        prices: of tokens, a file.

    Returns:
        The greatest exit code of all.

    Raises:
        UserError: for an option that cannot be, before anything is played.
    """
    console = plain_console()
    paths = [default_path(evaluation_of(options)) for options in models]
    if len(set(paths)) < len(paths):
        raise UserError("two models of the file would share a run directory")
    codes = []
    for number, (options, path) in enumerate(zip(models, paths, strict=True), 1):
        console.print(f"Model {number} of {len(models)}: {options.model}", soft_wrap=True)
        code = subprocess.run(
            [sys.executable, "-m", "ragen_bench", *words_of(options, path, prices)], check=False
        ).returncode
        if code == INTERRUPTED:
            return INTERRUPTED
        codes.append(code)
    _print_all(console, models, paths, codes)
    return max(codes)


def words_of(options: EvaluationOptions, path: Path, prices: Path | None) -> list[str]:
    """Return the command that evaluates one model, without the program's name."""
    words = ["evaluate", options.model]
    for field in fields(EvaluationOptions):
        value = getattr(options, field.name)
        if field.name == "model" or value == field.default:
            continue
        # Behind a sign of equality a value may begin with a dash.
        name = f"--{field.name.replace('_', '-')}"
        if value is True:
            words.append(name)
        else:
            words += [f"{name}={each}" for each in (value if isinstance(value, tuple) else [value])]
    words.append(f"--out={path}")
    return words if prices is None else [*words, f"--prices={prices}"]


def _print_all(
    console: Console,
    models: Sequence[EvaluationOptions],
    paths: Sequence[Path],
    codes: Sequence[int],
) -> None:
    """Print the table of the runs that have figures, and which models failed."""
    summaries = [summary for path in paths if (summary := _summary(path))]
    # Of runs with the same instances; a model may have options that choose others.
    for scope in dict.fromkeys(map(_scope, summaries)):
        console.print(players_table([each for each in summaries if _scope(each) == scope]))
    for options, code in zip(models, codes, strict=True):
        if code:
            line = f"{options.model} is not finished; the same command goes on with it"
            console.print(line, soft_wrap=True)


def _summary(path: Path) -> Object | None:
    return written_summary(read_run(path)) if (path / "run.json").is_file() else None


def _scope(summary: Object) -> tuple[str, str, tuple[str, ...]]:
    envs = tuple(row["env"] for row in summary["envs"])
    return summary["suite"], summary["split"], envs
