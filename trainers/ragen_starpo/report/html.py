"""Fills the templates with a training run. Style, frame and theme are those of the harness."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ragen_bench.pages.leaderboard.safe import shown
from ragen_bench.pages.report import formats
from ragen_bench.runs.atomic import write_text
from ragen_starpo.diagnostics.cost import milestones, spent
from ragen_starpo.diagnostics.monitor import MonitorSettings
from ragen_starpo.report.curves import groups, held_out
from ragen_starpo.report.reading import Left

_FORMATS = ("percent", "figure", "fixed", "words", "place", "csp_hash")


def write_report(left: Left) -> Path:
    """Write report.html into the run directory.

    Args:
        left: what the run left so far.

    Returns:
        The path of the report.
    """
    templates = _templates()
    window = left.recipe.get("monitor", {}).get("window", MonitorSettings().window)
    numbers = [line["iteration"] for line in left.metrics]
    page = templates.get_template("training/page.html").render(
        recipe=left.recipe,
        settings=list(_flat(left.recipe)),
        start=left.start,
        metrics=left.metrics,
        first=numbers[0],
        last=numbers[-1],
        window=window,
        groups=groups(left.metrics, window),
        held_out=held_out(left.metrics),
        warnings=left.warnings,
        spent=spent(left.metrics, left.timings, None),
        milestones=milestones(left.metrics, left.timings),
        # Rendered first, as the page's head names their hashes.
        script=Markup(templates.get_template("training/script.js").render()),
        style=Markup(templates.get_template("training/style.css").render()),
    )
    path = left.path / "report.html"
    write_text(path, page)
    return path


def exact(value: Any) -> str:
    """Return a value as its file has it; a text without its quotes, every character to be seen."""
    if isinstance(value, str):
        return shown(value)
    return shown(json.dumps(value, ensure_ascii=False))


def _flat(settings: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _templates() -> Environment:
    templates = Environment(
        loader=ChoiceLoader(
            [
                PackageLoader("ragen_starpo.report"),
                PackageLoader("ragen_bench.pages.leaderboard"),
                PackageLoader("ragen_bench.pages.report"),
            ]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in _FORMATS:
        templates.filters[name] = getattr(formats, name)
    templates.filters["exact"] = exact
    return templates
