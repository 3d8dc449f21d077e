"""The report of a training run: its curves, costs and recipe in one HTML file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ragen_bench.pages.escaping import shown
from ragen_bench.pages.rendering import page_environment
from ragen_bench.runs.atomic import write_text
from ragen_starpo.diagnostics.cost import milestones, spent
from ragen_starpo.recipes.sections import MonitorSettings
from ragen_starpo.report.curves import groups, held_out
from ragen_starpo.report.reading import TrainingRun


def write_report(run: TrainingRun) -> Path:
    """Write report.html into the run directory.

    Args:
        run: the files of the run so far.

    Returns:
        The path of the report.
    """
    window = run.recipe.get("monitor", {}).get("window", MonitorSettings().window)
    numbers = [line["iteration"] for line in run.metrics]
    template = page_environment("ragen_starpo.report", exact).get_template("page.html")
    page = template.render(
        recipe=run.recipe,
        settings=list(_flat(run.recipe)),
        start=run.start,
        metrics=run.metrics,
        first=numbers[0],
        last=numbers[-1],
        window=window,
        groups=groups(run.metrics, window),
        held_out=held_out(run.metrics),
        warnings=run.warnings,
        spent=spent(run.metrics, run.timings, None),
        milestones=milestones(run.metrics, run.timings),
    )
    path = run.path / "report.html"
    write_text(path, page)
    return path


def exact(value: Any) -> str:
    """Return a value as its file has it, in visible characters; a text without its quotes."""
    if isinstance(value, str):
        return shown(value)
    return shown(json.dumps(value, ensure_ascii=False))


def _flat(settings: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value
