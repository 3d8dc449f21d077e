"""The report of a run: metrics and trajectories in one HTML file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ragen_bench.environments import describe_replies, reference_note
from ragen_bench.json_types import JsonObject
from ragen_bench.models.prompt import FIRST, SKIPPED, opening, prompt_hash
from ragen_bench.pages.rendering import page_environment
from ragen_bench.pages.report.packing import Pack
from ragen_bench.runs.atomic import replacing
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.suites import states_form


class Home(NamedTuple):
    """Name and URL of the page that links to a report."""

    name: str
    address: str


def write_report(
    run: RunDirectory,
    summary: JsonObject,
    analysis: JsonObject | None = None,
    home: Home | None = None,
) -> Path:
    """Write report.html into the run directory, see `report_pieces`; return its path."""
    path = run.path / "report.html"
    with replacing(path) as page:
        # Names may contain lone surrogates, which UTF-8 does not have.
        pieces = report_pieces(run, summary, analysis, home)
        page.writelines(piece.encode(errors="backslashreplace") for piece in pieces)
    return path


def report_pieces(
    run: RunDirectory,
    summary: JsonObject,
    analysis: JsonObject | None = None,
    home: Home | None = None,
) -> Iterator[str]:
    """Render the report piece by piece.

    Args:
        run: The run.
        summary: Result of `summarise`; missing metrics are omitted.
        analysis: Result of `ragen_bench.analysis.analyse`, or None.
        home: Page to link back to, or None.

    Raises:
        UserError: if a line of the run's files is broken.
    """
    envs = [env.id for env in run.config.envs]
    analysis = analysis or {}
    # The page shows the parts of the prompt, unless another version of it was used.
    prompt, form, history = None, run.config.response_format, run.config.history
    if prompt_hash(form, history, run.config.opponent_format) == run.config.prompt_hash:
        prompt = {
            "opening": opening(form),
            "bare": [env for env in envs if states_form(env)],
            "first": FIRST,
            "skipped": SKIPPED,
            "history": history,
        }
    pack = Pack(run.episodes(), envs, analysis.get("labels", {}), prompt)
    templates = page_environment("ragen_bench.pages.report", reference_note)
    return templates.get_template("page.html").generate(
        config=run.config,
        summary=summary,
        analysis=analysis.get("envs", []),
        pack=pack,
        prompt=prompt,
        home=home,
        describe_replies=describe_replies,
    )
