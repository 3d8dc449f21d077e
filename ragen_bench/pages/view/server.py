"""The server of the page of all runs."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path

from jinja2 import UndefinedError

from ragen_bench.analysis import fetch_analysis
from ragen_bench.errors import UserError
from ragen_bench.json_types import JsonObject
from ragen_bench.pages.comparison import render_comparison
from ragen_bench.pages.local_server import PageServer, RenderedPage, not_found
from ragen_bench.pages.rendering import page_environment
from ragen_bench.pages.report import Home, report_pieces
from ragen_bench.pages.view.folder import RunsFolder
from ragen_bench.runs.directory import RunDirectory
from ragen_bench.scores.compare import compare_with_first
from ragen_bench.scores.summary import (
    FOREIGN_SUMMARY_ERRORS,
    bad_summary_error,
    read_summary,
    summarise,
)
from ragen_envs.core.sealed import SealedKeyError


class ViewServer(PageServer):
    """Serves a list of the runs in a folder, their reports, and comparisons."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.folder = RunsFolder(folder)
        self._templates = page_environment("ragen_bench.pages.view")
        super().__init__(None, port)

    def page(self, place: str) -> RenderedPage | None:
        """Render the list, `report/ID` or `compare/ID/ID/...`; None for other paths."""
        kind, *ids = place.split("/")
        try:
            if kind == "report" and len(ids) == 1:
                return RenderedPage(self._report(self._open_run(ids[0])))
            if kind == "compare" and ids:
                runs = [self._open_run(id) for id in ids]
                return RenderedPage(render_comparison(compare_with_first(runs), self._home.address))
        except (UserError, SealedKeyError, OSError) as error:
            problem = self._templates.get_template("problem.html")
            text = problem.render(problem=str(error), home=self._home.address)
            return RenderedPage(text, HTTPStatus.CONFLICT)
        if place:
            return None
        with self.lock:
            rows, notes = self.folder.list_runs()
        folder = self.folder.path.resolve()
        page = self._templates.get_template("page.html")
        return RenderedPage(page.render(rows=rows, notes=notes, folder=folder))

    def get(self, _place: str) -> JsonObject:
        """Refuse every request, since there are only pages."""
        raise not_found()

    def post(self, _place: str, _message: object) -> JsonObject:
        """Refuse every message, since nothing can be changed."""
        raise not_found()

    @property
    def _home(self) -> Home:
        return Home("All runs", f"/{self.word}/")

    def _open_run(self, id: str) -> RunDirectory:
        with self.lock:
            return self.folder.run(id).open()

    def _report(self, run: RunDirectory) -> str:
        if not any(True for _ in run.episodes()):
            raise UserError(f"{run.path} has no finished episode yet")
        summary, analysis = read_summary(run), fetch_analysis(run)
        if summary is None:
            return "".join(report_pieces(run, summarise(run), analysis, self._home))
        try:
            return "".join(report_pieces(run, summary, analysis, self._home))
        except (UndefinedError, *FOREIGN_SUMMARY_ERRORS):
            raise bad_summary_error(run.path) from None
