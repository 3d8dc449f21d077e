"""The pages of studies, made from their results: HTML, Markdown, a picture, an overview."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ragen_bench.errors import UserError
from ragen_bench.pages.rendering import page_environment
from ragen_bench.runs.json_lines import read_whole
from ragen_starpo.report.html import exact
from ragen_starpo.studies.results import CURVES
from ragen_starpo.studies.study import list_studies
from ragen_starpo.studies.tables import (
    NOTES,
    VERDICT_COLUMNS,
    escape_markdown,
    explain_arm_columns,
    list_arm_columns,
    list_run_columns,
    make_arm_rows,
    make_run_rows,
    make_verdict_rows,
    render_markdown,
)

_WIDTH, _HEIGHT, _HEAD, _TITLE, _ACROSS = 300, 146, 16, 30, 3
"""Size of a chart in the picture, heights of its name and of a metric's title, charts a row."""


def make_pages(results: Mapping[str, Any]) -> dict[str, str]:
    """Return the content of a study's pages, by file name.

    Args:
        results: Content of `study.json`.
    """
    return {
        "study.html": render_html(results),
        "study.md": render_page_markdown(results),
        "study.svg": render_picture(results),
    }


def render_html(results: Mapping[str, Any]) -> str:
    """Return the page of a study as one self-contained HTML file."""
    template = page_environment("ragen_starpo.studies", exact).get_template("page.html")
    titles = _curve_titles(results)
    return template.render(
        **results,
        finished=_count_finished(results),
        seeds_note=_seeds_note(results),
        notes={**NOTES, "arms": explain_arm_columns(results)},
        verdict_columns=VERDICT_COLUMNS,
        verdict_rows=make_verdict_rows(results),
        arm_columns=list_arm_columns(results),
        arm_rows=make_arm_rows(results),
        run_columns=list_run_columns(results),
        run_rows=make_run_rows(results),
        curve_titles=titles,
        axes={name: _axes(results, name) for name in titles},
    )


def render_page_markdown(results: Mapping[str, Any]) -> str:
    """Return the page of a study in Markdown."""
    study = results["study"]
    parts = [
        f"# {escape_markdown(study['question'])}",
        _join(f"Study `{study['name']}`, {_state(results)}.", _seeds_note(results)),
        f"```\n$ {_command(results)}\n```",
        *(["## Verdicts", NOTES["verdicts"], _verdict_table(results)] if results["claims"] else []),
        "## Arms",
        explain_arm_columns(results),
        render_markdown(list_arm_columns(results), make_arm_rows(results)),
        *(["## Curves", NOTES["curves"], "![Curves](study.svg)"] if _curve_titles(results) else []),
        "## Runs",
        NOTES["runs"],
        render_markdown(list_run_columns(results), make_run_rows(results)),
    ]
    return "\n\n".join(parts) + "\n"


def render_picture(results: Mapping[str, Any]) -> str:
    """Return the curves of all arms as one SVG picture, which the Markdown page links."""
    sheets, top = [], 0
    for name, title in _curve_titles(results).items():
        charts = [
            {"arm": arm["name"], "points": arm["curves"][name], **_place(number, top + _TITLE)}
            for number, arm in enumerate(_arms_with_curve(results, name))
        ]
        bounds = _axes(results, name)
        sheets.append({"title": title, "top": top, "charts": charts, "axes": bounds})
        top += _TITLE + -(-len(charts) // _ACROSS) * (_HEIGHT + _HEAD)
    template = page_environment("ragen_starpo.studies", exact).get_template("curves.svg")
    return template.render(
        study=results["study"], sheets=sheets, width=_ACROSS * _WIDTH, height=max(top, 1)
    )


def render_overview(folder: Path) -> str:
    """Return a section of Markdown with the verdicts of each study in a folder.

    Args:
        folder: Folder whose subfolders hold a `study.json` each, and the `study.md` that is linked.

    Raises:
        UserError: No study has claims, or a file cannot be read.
    """
    sections = [_section(file) for file in sorted(folder.glob("*/study.json"))]
    if not any(sections):
        raise UserError(f"{folder} has no folder with the study.json of a study with claims")
    return "\n\n".join(filter(None, sections)) + "\n"


def _section(file: Path) -> str:
    results = read_whole(file)
    if not results["claims"]:
        return ""
    name, question = file.parent.name, escape_markdown(results["study"]["question"])
    link = f"[{_state(results)}]({quote(name)}/study.md)."
    lead = _join(question, link, _seeds_note(results))
    return "\n\n".join([f"## {escape_markdown(name)}", lead, _verdict_table(results)])


def _verdict_table(results: Mapping[str, Any]) -> str:
    return render_markdown(VERDICT_COLUMNS, make_verdict_rows(results))


def _join(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _state(results: Mapping[str, Any]) -> str:
    return (
        f"scale `{results['scale']}`, {results['seeds']} seeds an arm; "
        f"{_count_finished(results)} of {len(results['runs'])} runs are finished"
    )


def _seeds_note(results: Mapping[str, Any]) -> str:
    """Return a note where the seeds differ from the study's file, or some runs are earlier ones."""
    seeds, planned = results["seeds"], results["study"]["seeds"]
    notes = []
    if seeds < planned:
        notes.append(f"The study asks for {planned} seeds, so its verdicts are not final.")
    if seeds > planned:
        notes.append(f"The study asks for {planned} seeds; the others were added to them.")
    if earlier := results.get("earlier"):
        notes.append(
            f"{earlier['runs']} runs were played before, and taken from the study.json whose "
            f"SHA-256 is `{earlier['sha256']}`."
        )
    return " ".join(notes)


def _command(results: Mapping[str, Any]) -> str:
    name = results["study"]["name"]
    file = name if name in list_studies() else f"{name}.toml"
    return (
        f"ragen-train study {file} --scale {results['scale']} --seeds {results['seeds']} "
        f"--out {name}"
    )


def _count_finished(results: Mapping[str, Any]) -> int:
    return sum(not run["problem"] for run in results["runs"])


def _curve_titles(results: Mapping[str, Any]) -> dict[str, str]:
    """Return the titles of the metrics for which an arm has a curve."""
    return {name: title for name, title in CURVES.items() if _arms_with_curve(results, name)}


def _axes(results: Mapping[str, Any], name: str) -> Sequence[float]:
    """Return lowest and highest value, first and last iteration of all arms together."""
    points = [point for arm in results["arms"] for point in arm["curves"][name]]
    low, high = min(point[2] for point in points), max(point[3] for point in points)
    numbers = [point[0] for point in points]
    return [min(low, 0.0), high if high > low else low + 1.0, min(numbers), max(numbers)]


def _arms_with_curve(results: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    return [arm for arm in results["arms"] if len(arm["curves"][name]) > 1]


def _place(number: int, top: int) -> dict[str, Any]:
    """Return the position of a chart in the rows that begin at a height, and its attributes."""
    x, y = number % _ACROSS * _WIDTH, top + number // _ACROSS * (_HEIGHT + _HEAD)
    place = f'x="{x}" y="{y + _HEAD}" width="{_WIDTH}" height="{_HEIGHT}"'
    return {"x": x, "y": y, "place": place}
