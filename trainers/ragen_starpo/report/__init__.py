"""Training reports: one self-contained HTML page for each run, with its curves, cost and recipe."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from operator import itemgetter
from pathlib import Path

from ragen_bench.errors import UserError
from ragen_bench.escaping import escape_invisible
from ragen_bench.json_types import JsonObject
from ragen_bench.pages.rendering import page_environment
from ragen_bench.runs.atomic import write_text
from ragen_bench.runs.checked import BadRecordError
from ragen_bench.runs.json_lines import read_whole
from ragen_bench.runs.schema import LARGEST
from ragen_starpo.diagnostics.cost import list_milestones, sum_cost
from ragen_starpo.diagnostics.drift import find_drift
from ragen_starpo.recipes.run_sections import MonitorSettings
from ragen_starpo.report.curves import find_checkpoints, group_metrics, list_held_out
from ragen_starpo.report.iteration_lines import iteration_lines, read_start

__all__ = ["TrainingRun", "exact", "read_training_run", "write_report"]

_WINDOW = MonitorSettings().window
_RESTORE = "restore it from a copy, or report another run"


@dataclass(frozen=True)
class TrainingRun:
    """The contents of a run's files: all settings, and one line for each iteration.

    The held-out metrics of the first model and the warnings may be empty.
    """

    path: Path
    recipe: JsonObject
    start: JsonObject
    metrics: list[JsonObject]
    timings: list[JsonObject]
    warnings: list[JsonObject]


def read_training_run(path: Path) -> TrainingRun:
    """Return the contents of a run's files so far; raise UserError if they are not a run's."""
    file, start_file = path / "recipe.json", path / "start.json"
    if not file.exists():
        raise UserError(f"{path} is not a training run: it has no recipe.json")
    recipe = read_whole(file, _RESTORE)
    if problem := _recipe_problem(recipe):
        raise UserError(f"{file} {problem}; {_RESTORE}")
    start = read_whole(start_file, _RESTORE) if start_file.exists() else {}
    start.pop("date", None)
    try:
        read_start(start)
    except BadRecordError as error:
        raise UserError(f"{start_file} {error}; {_RESTORE}") from None
    metrics, timings, warnings = (
        iteration_lines(path, name, _RESTORE) for name in ("metrics", "timings", "warnings")
    )
    if not metrics:
        raise UserError(f"{path} holds no finished iteration yet", exit_code=1)
    return TrainingRun(path, recipe, start, metrics, timings, warnings)


def write_report(run: TrainingRun) -> Path:
    """Write report.html into the run directory and return its path."""
    window = run.recipe.get("monitor", {}).get("window", _WINDOW)
    numbers = [line["iteration"] for line in run.metrics]
    drift = map(asdict, find_drift(run.metrics, run.start, window))
    trap = (warning for warning in run.warnings if warning["kind"] != "drift")
    template = page_environment("ragen_starpo.report", exact).get_template("page.html")
    page = template.render(
        recipe=run.recipe,
        settings=list(_flatten(run.recipe)),
        start=run.start,
        metrics=run.metrics,
        first=numbers[0],
        last=numbers[-1],
        window=window,
        groups=group_metrics(run.metrics, window),
        held_out=list_held_out(run.metrics),
        checkpoints=find_checkpoints(run.metrics, run.start),
        warnings=sorted([*trap, *drift], key=itemgetter("iteration")),
        spent=sum_cost(run.metrics, run.timings),
        milestones=list_milestones(run.metrics, run.timings),
    )
    path = run.path / "report.html"
    write_text(path, page)
    return path


def _recipe_problem(recipe: JsonObject) -> str | None:
    """Return the error in the settings that the page needs."""
    monitor, envs = recipe.get("monitor", {}), recipe.get("envs", [])
    window = monitor.get("window", _WINDOW) if isinstance(monitor, dict) else None
    if type(window) is not int or not 0 < window < LARGEST:
        return "has a monitor.window that is not a number of iterations"
    return None if isinstance(envs, list) else "has envs that are not a list"


def exact(value: object) -> str:
    """Return a value as in its JSON file, with all characters visible; a string without quotes."""
    if isinstance(value, str):
        return escape_invisible(value)
    return escape_invisible(json.dumps(value, ensure_ascii=False))


def _flatten(settings: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
