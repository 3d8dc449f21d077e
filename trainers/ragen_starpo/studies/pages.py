"""The pages of studies, made from their results: HTML, Markdown, a picture, an overview."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.pages.escaping import escape_invisible
from ragen_bench.pages.formats import NONE, figure, fixed, percent
from ragen_bench.pages.rendering import page_environment
from ragen_bench.runs.json_lines import read_whole
from ragen_envs.core.sums import sum_in_order
from ragen_starpo.report import exact
from ragen_starpo.studies.results import CURVES
from ragen_starpo.studies.study import METRICS, list_studies

Row: TypeAlias = list[str]
_BY_ENV = {"test": "test", "test_gain": "gains"}
"""Where a run stores the metrics with a value for each environment; older files have no gains."""
VERDICT_COLUMNS = ["claim", "source", "verdict", "difference", "interval", "margin", "detectable"]
NOTES = {
    "verdicts": (
        "A claim holds if its whole interval is above the margin, and does not hold if all of it "
        "is below. Seeds that all have the same difference are judged by the sign test. All "
        "verdicts of a study together have the level of 95 % (Holm's correction). Detectable is "
        "the smallest distance from the margin that four of five such studies detect. Success is "
        "in per cent."
    ),
    "arms": (
        "Means over seeds; success in per cent. Start, best and last are success on val before, at "
        "best and after training; test is that of the last model on the test split. Rollouts are "
        "moving averages of five iterations. Collapsed is the percentage of runs whose rollouts "
        "lost half of their success for good; without a collapse, its iteration is the last one. "
        "A rank is a metric's rank correlation with success of the rollouts. The length of "
        "thoughts is in characters."
    ),
    "thoughts": (
        "Plan ok is the percentage of plans in thoughts that the response follows, true the "
        "percentage of true claims about the state. Both are on the test split; before is the "
        "first model."
    ),
    "failures": (
        "Failures alike is the overlap of the causes of failure in the first test environment and "
        "in another one, averaged over the others."
    ),
    "curves": "Means over seeds; the bands go from the lowest to the highest. -1 is before.",
    "runs": "Every run of the study; none is left out.",
}


def make_verdict_rows(results: JsonObject) -> list[Row]:
    """Return a row for each claim."""
    rows = []
    for claim in results["claims"]:
        verdict, name = claim["verdict"], claim["figure"]
        if verdict is None:
            values = ["undecided", NONE, NONE, NONE, claim["problem"]]
        else:
            low, high = (_format(name, bound) for bound in verdict["interval"])
            mean, margin, detectable = (
                _format(name, verdict[value]) for value in ("mean", "margin", "detectable")
            )
            values = [verdict["word"], mean, f"{low} to {high}", margin, detectable]
        rows.append([claim["text"], claim["source"], *values])
    return rows


def list_arm_columns(results: JsonObject) -> list[str]:
    """Return the headings of the table of arms."""
    return ["arm", *_columns(results).values()]


def make_arm_rows(results: JsonObject) -> list[Row]:
    """Return a row for each arm."""
    names = _columns(results)
    rows = []
    for arm in results["arms"]:
        means = [(name, arm["figures"].get(name)) for name in names]
        values = [NONE if mean is None else _format(name, mean["mean"]) for name, mean in means]
        rows.append([arm["name"], *values])
    return rows


def list_run_columns(results: JsonObject) -> list[str]:
    """Return the headings of the table of runs."""
    return ["run", *_columns(results, per_run=True).values(), "problem"]


def make_run_rows(results: JsonObject) -> list[Row]:
    """Return a row for each run."""
    names = _columns(results, per_run=True)
    rows = []
    for run in results["runs"]:
        metrics = dict(run["figures"])
        for name, key in _BY_ENV.items():
            rates = list(run.get(key, {}).values())
            metrics[name] = sum_in_order(rates) / len(rates) if rates else None
        values = [_format(name, metrics.get(name)) for name in names]
        rows.append([run["folder"], *values, run["problem"]])
    return rows


def explain_arm_columns(results: JsonObject) -> str:
    """Return the note below the table of arms."""
    columns = _columns(results)
    extra = {"thoughts": "truth", "failures": "failures_alike"}
    return " ".join(NOTES[name] for name in ("arms", *(n for n in extra if extra[n] in columns)))


def _columns(results: JsonObject, per_run: bool = False) -> dict[str, str]:
    """Return the headings of the metrics that any run has a value for, by name."""
    known = {
        name
        for run in results["runs"]
        for name, value in run["figures"].items()
        if value is not None
    }
    known |= {name for name, key in _BY_ENV.items() if any(run.get(key) for run in results["runs"])}
    return {
        name: metric.heading
        for name, metric in METRICS.items()
        if metric.heading and name in known and (metric.per_run or not per_run)
    }


def render_markdown(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Return a table in Markdown, its first column aligned to the left."""
    marks = ["---", *("---:" for _ in columns[1:])]
    lines = [list(columns), marks, *([escape_markdown(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def escape_markdown(text: str) -> str:
    """Return a text in one line, escaped for Markdown."""
    return re.sub(r"([\\`*_\[\]<>&|#])", r"\\\1", escape_invisible(text.replace("\n", " ")))


def _format(name: str, value: float | None) -> str:
    unit = METRICS[name].unit
    if unit == "percent":
        return percent(value)
    if unit == "number" and (value is None or value >= 100):
        return figure(value if value is None else round(value))
    return fixed(value, 2 if unit == "rank" else 1)


_WIDTH, _HEIGHT, _HEAD, _TITLE, _ACROSS = 300, 146, 16, 30, 3
"""Size of a chart in the picture, heights of its name and of a metric's title, charts a row."""


def make_pages(results: JsonObject) -> dict[str, str]:
    """Return the content of a study's pages by file name, from that of `study.json`."""
    return {
        "study.html": render_html(results),
        "study.md": render_page_markdown(results),
        "study.svg": render_picture(results),
    }


def render_html(results: JsonObject) -> str:
    """Return the page of a study as one self-contained HTML file."""
    template = page_environment("ragen_starpo.studies", exact).get_template("page.html")
    titles = _curve_titles(results)
    return template.render(
        **results,
        finished=sum(not run["problem"] for run in results["runs"]),
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


def render_page_markdown(results: JsonObject) -> str:
    """Return the page of a study in Markdown."""
    study = results["study"]
    file = study["name"] if study["name"] in list_studies() else f"{study['name']}.toml"
    command = (
        f"ragen-train study {file} --scale {results['scale']} --seeds {results['seeds']} "
        f"--out {study['name']}"
    )
    parts = [
        f"# {escape_markdown(study['question'])}",
        f"Study `{study['name']}`, {_state(results)}. {_seeds_note(results)}".rstrip(),
        f"```\n$ {command}\n```",
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


def render_picture(results: JsonObject) -> str:
    """Return the curves of all arms as one SVG picture, which the Markdown page links."""
    sheets, top = [], 0
    for name, title in _curve_titles(results).items():
        charts = []
        for number, arm in enumerate(_arms_with_curve(results, name)):
            x = number % _ACROSS * _WIDTH
            y = top + _TITLE + number // _ACROSS * (_HEIGHT + _HEAD)
            place = f'x="{x}" y="{y + _HEAD}" width="{_WIDTH}" height="{_HEIGHT}"'
            points = arm["curves"][name]
            charts.append({"arm": arm["name"], "points": points, "x": x, "y": y, "place": place})
        bounds = _axes(results, name)
        sheets.append({"title": title, "top": top, "charts": charts, "axes": bounds})
        top += _TITLE + -(-len(charts) // _ACROSS) * (_HEIGHT + _HEAD)
    template = page_environment("ragen_starpo.studies", exact).get_template("curves.svg")
    return template.render(
        study=results["study"], sheets=sheets, width=_ACROSS * _WIDTH, height=max(top, 1)
    )


def render_overview(folder: Path) -> str:
    """Return a section of Markdown with the verdicts of each study in a folder's subfolders.

    A subfolder has a `study.json`, and the `study.md` that is linked. A UserError is raised if no
    study has claims, or a file cannot be read.
    """
    parts = []
    for file in sorted(folder.glob("*/study.json")):
        results = read_whole(file)
        if results["claims"]:
            name, question = file.parent.name, escape_markdown(results["study"]["question"])
            link = f"[{_state(results)}]({quote(name)}/study.md)."
            lead = f"{question} {link} {_seeds_note(results)}".rstrip()
            parts += [f"## {escape_markdown(name)}", lead, _verdict_table(results)]
    if not parts:
        raise UserError(f"{folder} has no folder with the study.json of a study with claims")
    return "\n\n".join(parts) + "\n"


def _verdict_table(results: JsonObject) -> str:
    return render_markdown(VERDICT_COLUMNS, make_verdict_rows(results))


def _state(results: JsonObject) -> str:
    finished, runs = sum(not run["problem"] for run in results["runs"]), len(results["runs"])
    seeds = f"scale `{results['scale']}`, {results['seeds']} seeds an arm"
    return f"{seeds}; {finished} of {runs} runs are finished"


def _seeds_note(results: JsonObject) -> str:
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


def _curve_titles(results: JsonObject) -> dict[str, str]:
    """Return the titles of the metrics for which an arm has a curve."""
    return {name: title for name, title in CURVES.items() if _arms_with_curve(results, name)}


def _axes(results: JsonObject, name: str) -> Sequence[float]:
    """Return lowest and highest value, first and last iteration of all arms together."""
    points = [point for arm in results["arms"] for point in arm["curves"][name]]
    low, high = min(point[2] for point in points), max(point[3] for point in points)
    numbers = [point[0] for point in points]
    return [min(low, 0.0), high if high > low else low + 1.0, min(numbers), max(numbers)]


def _arms_with_curve(results: JsonObject, name: str) -> list[JsonObject]:
    return [arm for arm in results["arms"] if len(arm["curves"][name]) > 1]
