"""A study's pages, one in HTML and one in Markdown, from its results alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragen_bench.pages.rendering import page_environment
from ragen_starpo.report.html import exact
from ragen_starpo.studies.results import CURVES
from ragen_starpo.studies.study import studies
from ragen_starpo.studies.tables import (
    ARM_COLUMNS,
    NOTES,
    RUN_COLUMNS,
    VERDICT_COLUMNS,
    arm_rows,
    markdown,
    plain,
    run_rows,
    verdict_rows,
)


def html_page(results: Mapping[str, Any]) -> str:
    """Return the page of a study as one self-contained HTML file.

    Args:
        results: the content of `study.json`.
    """
    template = page_environment("ragen_starpo.studies", exact).get_template("page.html")
    return template.render(
        **results,
        finished=_finished(results),
        notes=NOTES,
        verdict_columns=VERDICT_COLUMNS,
        verdict_rows=verdict_rows(results),
        arm_columns=ARM_COLUMNS,
        arm_rows=arm_rows(results),
        run_columns=RUN_COLUMNS,
        run_rows=run_rows(results),
        drawn=_drawn(results),
        axes={name: _axes(results, name) for name in _drawn(results)},
    )


def markdown_page(results: Mapping[str, Any]) -> str:
    """Return the page of a study in Markdown.

    Args:
        results: the content of `study.json`.
    """
    study = results["study"]
    parts = [
        f"# {plain(study['question'])}",
        f"Study `{study['name']}`, scale `{results['scale']}`, {results['seeds']} seeds an arm; "
        f"{_finished(results)} of {len(results['runs'])} runs are finished.",
        f"```\n$ {_command(results)}\n```",
        "## Verdicts",
        NOTES["verdicts"],
        markdown(VERDICT_COLUMNS, verdict_rows(results)),
        "## Arms",
        NOTES["arms"],
        markdown(ARM_COLUMNS, arm_rows(results)),
        "## Runs",
        NOTES["runs"],
        markdown(RUN_COLUMNS, run_rows(results)),
    ]
    return "\n\n".join(parts) + "\n"


def _command(results: Mapping[str, Any]) -> str:
    name = results["study"]["name"]
    place = name if name in studies() else f"{name}.toml"
    return (
        f"ragen-train study {place} --scale {results['scale']} --seeds {results['seeds']} "
        f"--out {name}"
    )


def _finished(results: Mapping[str, Any]) -> int:
    return sum(not run["problem"] for run in results["runs"])


def _drawn(results: Mapping[str, Any]) -> dict[str, str]:
    """Return the figures of which an arm has a curve, with their titles."""
    return {
        name: title
        for name, title in CURVES.items()
        if any(len(arm["curves"][name]) > 1 for arm in results["arms"])
    }


def _axes(results: Mapping[str, Any], name: str) -> Sequence[float]:
    """Return lowest and highest value, first and last iteration of all arms together."""
    points = [point for arm in results["arms"] for point in arm["curves"][name]]
    low, high = min(point[2] for point in points), max(point[3] for point in points)
    numbers = [point[0] for point in points]
    return [min(low, 0.0), high if high > low else low + 1.0, min(numbers), max(numbers)]
