"""Renders the report of a training run: its curves, cost and recipe in one HTML file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ragen_bench.pages.escaping import escape_invisible
from ragen_bench.pages.rendering import page_environment
from ragen_bench.runs.atomic import write_text
from ragen_starpo.diagnostics.cost import list_milestones, sum_cost
from ragen_starpo.recipes.sections import MonitorSettings
from ragen_starpo.report.curves import group_metrics, list_held_out
from ragen_starpo.report.reading import TrainingRun


def write_report(run: TrainingRun) -> Path:
    """Write report.html into the run directory and return its path."""
    window = run.recipe.get("monitor", {}).get("window", MonitorSettings().window)
    numbers = [line["iteration"] for line in run.metrics]
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
        warnings=run.warnings,
        spent=sum_cost(run.metrics, run.timings, None),
        milestones=list_milestones(run.metrics, run.timings),
    )
    path = run.path / "report.html"
    write_text(path, page)
    return path


def exact(value: Any) -> str:
    """Return a value as in its JSON file, with all characters visible; a string without quotes."""
    if isinstance(value, str):
        return escape_invisible(value)
    return escape_invisible(json.dumps(value, ensure_ascii=False))


def _flatten(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
