"""A real browser for the site, whose pages may neither complain nor ask for anything else."""

from contextlib import ExitStack, contextmanager

import pytest

from ragen_bench.pages.leaderboard.pages import Pages
from ragen_bench.pages.leaderboard.ranking import boards
from ragen_bench.pages.leaderboard.reference import Reported, Source
from tests.ragen_bench.pages.leaderboard.made import gallery
from tests.ragen_bench.pages.report.browser import PATIENCE, launched

SOURCE = Source(
    "A paper",
    "https://arxiv.org/abs/2504.20073",
    "Other instances.",
    "Per cent",
    (Reported("table 4", "Theirs", {"Sokoban": 21.48}), Reported("", "Base", {"Lake": 3})),
)


@pytest.fixture(scope="package")
def browser():
    with launched() as chromium:
        yield chromium


@pytest.fixture
def visit(browser):
    """Opens a page; after the test, what went wrong in any page fails it."""
    with ExitStack() as pages:

        def opened(path, **context):
            page = pages.enter_context(_watched(browser, context))
            page.goto(path if isinstance(path, str) else path.as_uri())
            return page

        yield opened


@contextmanager
def _watched(browser, options):
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
    context.set_default_timeout(PATIENCE)
    asked, wrong = [], []
    page = context.new_page()
    page.on("request", lambda request: asked.append((request.resource_type, request.url)))
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    yield page
    context.close()
    assert wrong == []
    # Pages that were gone to, from disk or from this machine, and nothing that they ask for.
    assert {kind for kind, _ in asked} == {"document"}, asked
    assert all(url.startswith(("file:", "http://127.0.0.1:")) for _, url in asked), asked


def write_pages(folder, entries, sources=(SOURCE,)):
    """Write the pages of entries that are in no directory; return the index."""
    for name, text in Pages(boards(entries), sources).all():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder / "index.html"


@pytest.fixture(scope="package")
def index(tmp_path_factory):
    """The site of the gallery."""
    return write_pages(tmp_path_factory.mktemp("gallery"), gallery())
