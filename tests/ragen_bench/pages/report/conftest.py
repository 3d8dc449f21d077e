"""A real browser, and pages in it that may neither complain nor ask for anything."""

from contextlib import ExitStack, contextmanager

import pytest

from .browser import PATIENCE, launched


@pytest.fixture(scope="package")
def browser():
    with launched() as chromium:
        yield chromium


@pytest.fixture
def visit(browser):
    """Opens a report; after the test, what went wrong in any page fails it."""
    with ExitStack() as pages:

        def opened(path, fragment="", ready=".turn", **context):
            page = pages.enter_context(_watched(browser, context))
            page.goto(f"{path.as_uri()}{fragment}")
            page.wait_for_selector(ready, state="attached")
            return page

        yield opened


@contextmanager
def _watched(browser, options):
    context = browser.new_context(viewport={"width": 1200, "height": 800}, **options)
    context.set_default_timeout(PATIENCE)
    asked, wrong = [], []
    context.route(lambda url: not url.startswith("file:"), lambda route: route.abort())
    page = context.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    yield page
    context.close()
    assert wrong == []
    # The page itself, once, and nothing else.
    assert [url.partition(":")[0] for url in asked] == ["file"], asked
