"""Reports in a browser, which may neither complain nor ask for anything."""

from contextlib import ExitStack

import pytest

from tests.ragen_bench.pages.browser import watched


def _asks_for_itself_alone(requests):
    return [request.url.partition(":")[0] for request in requests] == ["file"]


@pytest.fixture
def visit(browser):
    """Opens a report; after the test, what went wrong in any page fails it."""
    with ExitStack() as pages:

        def opened(path, fragment="", ready=".turn", **options):
            page = pages.enter_context(watched(browser, _asks_for_itself_alone, **options))
            page.route(lambda url: not url.startswith("file:"), lambda route: route.abort())
            page.goto(f"{path.as_uri()}{fragment}")
            page.wait_for_selector(ready, state="attached")
            return page

        yield opened
