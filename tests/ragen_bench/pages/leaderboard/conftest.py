"""The site in a browser, whose pages may neither complain nor ask for anything else."""

from contextlib import ExitStack

import pytest

from ragen_bench.pages.leaderboard.pages import render_pages
from ragen_bench.pages.leaderboard.ranking import build_rankings
from ragen_bench.pages.leaderboard.site_entries import Reported, Source
from tests.ragen_bench.leaderboard.conftest import honest, small_suites
from tests.ragen_bench.pages.browser import watched
from tests.ragen_bench.pages.leaderboard.entries import gallery

__all__ = ["honest", "small_suites"]

SOURCE = Source(
    title="A paper",
    link="https://arxiv.org/abs/2504.20073",
    settings="Other instances.",
    metric="Per cent",
    rows=(Reported("table 4", "Theirs", {"Sokoban": 21.48}), Reported("", "Base", {"Lake": 3})),
)


def _asks_for_pages_alone(requests):
    """Pages that were gone to, from disk or from this machine, and nothing that they ask for."""
    return all(
        request.resource_type == "document"
        and request.url.startswith(("file:", "http://127.0.0.1:"))
        for request in requests
    )


@pytest.fixture
def visit(browser):
    """Opens a page; after the test, what went wrong in any page fails it."""
    with ExitStack() as pages:

        def opened(path, **options):
            page = pages.enter_context(watched(browser, _asks_for_pages_alone, **options))
            page.goto(path if isinstance(path, str) else path.as_uri())
            return page

        yield opened


def write_pages(folder, entries, sources=(SOURCE,)):
    """Write the pages of entries that are in no directory; return the index."""
    for name, text in render_pages(build_rankings(entries), sources):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder / "index.html"


@pytest.fixture(scope="package")
def index(tmp_path_factory):
    """The site of the gallery."""
    return write_pages(tmp_path_factory.mktemp("gallery"), gallery())
