"""A served folder of runs, and the page in a browser."""

from contextlib import ExitStack

import pytest

from ragen_bench.pages.view.server import ViewServer
from tests.ragen_bench.pages.browser import watched
from tests.ragen_bench.pages.serving import serving


@pytest.fixture
def served():
    """Serves a folder until the test's end."""
    with ExitStack() as servers:
        yield lambda folder: servers.enter_context(serving(ViewServer(folder)))


@pytest.fixture
def visit(browser):
    """Opens a server's page; after the test, what went wrong in any page fails it."""
    with ExitStack() as pages:

        def opened(server, **options):
            def asks_the_server_alone(requests):
                return all(request.url.startswith(server.url) for request in requests)

            page = pages.enter_context(watched(browser, asks_the_server_alone, **options))
            page.goto(server.url)
            return page

        yield opened
