"""The report of a run: its figures and trajectories in one HTML file."""

from __future__ import annotations

from pathlib import Path

from ragen_bench.opponents.wording import replies_in_words
from ragen_bench.pages.rendering import page_environment
from ragen_bench.pages.report.packing import Pack
from ragen_bench.runs.atomic import replacing
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.runs.schema import Object


def write_report(
    run: RunDirectory, summary: Object, analysis: Object | None = None, home: str | None = None
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
    envs = [env.id for env in run.config.envs]
    analysis = analysis or {}
    pack = Pack(run.episodes(), envs, analysis.get("labels", {}))
    template = page_environment("ragen_bench.pages.report").get_template("page.html")
    pieces = template.generate(
        config=run.config,
        summary=summary,
        analysis=analysis.get("envs", []),
        pack=pack,
        home=home,
        replies_in_words=replies_in_words,
    )
    path = run.path / "report.html"
    with replacing(path) as page:
        # Names may hold lone surrogates, which no encoding of a page has.
        page.writelines(piece.encode(errors="backslashreplace") for piece in pieces)
    return path
