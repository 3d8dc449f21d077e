"""The server of the page over all runs."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path
from typing import Any

from jinja2 import UndefinedError

from ragen_bench.analysis import analyse
from ragen_bench.errors import UserError
from ragen_bench.pages.comparison import comparison_page
from ragen_bench.pages.local_server import MadePage, PageServer, nothing_here
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
    """Serves a list of the runs below a folder, their reports, and comparisons.

    All pages are made anew when they are asked for, and nothing is written.

    Args:
        folder: the folder.
        port: 0 for a free one.

    Raises:
        UserError: if there is no such folder, or the port is out of range or in use.
    """

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.folder = RunsFolder(folder)
        self._templates = page_environment("ragen_bench.pages.view")
        super().__init__(None, port)

    def page(self, place: str) -> MadePage | None:
        """Return the list, `report/ID` or `compare/ID/ID/...`; else None."""
        kind, *ids = place.split("/")
        try:
            if kind == "report" and len(ids) == 1:
                return MadePage(self._report(self._opened(ids[0])))
            if kind == "compare" and ids:
                runs = [self._opened(id) for id in ids]
                return MadePage(comparison_page(compare_with_first(runs), self._home.address))
        except (UserError, SealedKeyError, OSError) as error:
            problem = self._templates.get_template("problem.html")
            text = problem.render(problem=str(error), home=self._home.address)
            return MadePage(text, HTTPStatus.CONFLICT)
        return None if place else MadePage(self._list())

    def get(self, _place: str) -> dict[str, Any]:
        """Refuse: there are pages only."""
        raise nothing_here()

    def post(self, _place: str, _message: Any) -> dict[str, Any]:
        """Refuse: nothing can be changed."""
        raise nothing_here()

    @property
    def _home(self) -> Home:
        return Home("All runs", f"/{self.word}/")

    def _list(self) -> str:
        with self.lock:
            listing = self.folder.look()
        page = self._templates.get_template("page.html")
        folder = self.folder.path.resolve()
        return page.render(rows=listing.rows, notes=listing.notes, folder=folder)

    def _opened(self, id: str) -> RunDirectory:
        with self.lock:
            return self.folder.run(id).opened()

    def _report(self, run: RunDirectory) -> str:
        if not any(True for _ in run.episodes()):
            raise UserError(f"{run.path} holds no finished episode yet")
        written, analysis = read_summary(run), analyse(run)
        if written is None:
            return "".join(report_pieces(run, summarise(run), analysis, self._home))
        try:
            return "".join(report_pieces(run, written, analysis, self._home))
        except (UndefinedError, *FOREIGN_SUMMARY_ERRORS):
            raise bad_summary_error(run.path) from None
