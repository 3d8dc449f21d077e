"""Fills the report's templates with a run's figures and trajectories."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ragen_bench.pages.report import formats
from ragen_bench.pages.report.packing import Pack
from ragen_bench.runs.atomic import replacing
from ragen_bench.runs.directory import Record, RunDirectory

_FILTERS = ("percent", "figure", "fixed", "short", "words", "by_measure", "place", "csp_hash")


def write_report(
    run: RunDirectory, summary: Record, analysis: Record | None = None, home: str | None = None
) -> Path:
    """Write report.html into the run directory.

    Episodes are read one at a time, and a few at a time are held.

    Args:
        run: the run.
        summary: what `summarise` says of it; figures that it lacks are left out.
        analysis: what `ragen_bench.analysis.analyse` says of it, if it was asked.
        home: address of the page that the report belongs to, if it stands on a site.

    Returns:
        The path of the report.

    Raises:
        UserError: if a line of the run's files is broken.
    """
    templates = _templates()
    found = analysis or {}
    pack = Pack(run.episodes(), [env["id"] for env in run.config["envs"]], found.get("labels", {}))
    pieces = templates.get_template("report.html").generate(
        config=run.config,
        summary=summary,
        analysis=found.get("envs", []),
        pack=pack,
        home=home,
        # Rendered first, as the page's head names their hashes.
        script=Markup(templates.get_template("script/all.js").render()),
        style=Markup(templates.get_template("style/all.css").render()),
    )
    path = run.path / "report.html"
    with replacing(path) as page:
        # Names may hold lone surrogates, which no encoding of a page has.
        page.writelines(piece.encode(errors="backslashreplace") for piece in pieces)
    return path


def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("ragen_bench.pages.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name in _FILTERS:
        templates.filters[name] = getattr(formats, name)
    return templates
