"""The Chromium that pages are tested with; `python browser.py` fails if there is none.

It is $CHROMIUM, one on the PATH, or the one of `playwright install chromium`.
"""

import os
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

PATIENCE = 60_000  # milliseconds, for busy machines
NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def find(playwright):
    """Return the path of a Chromium, or None."""
    named = os.environ.get("CHROMIUM")
    if named:
        return shutil.which(named)
    installed = next(filter(None, map(shutil.which, NAMES)), None)
    own = playwright.chromium.executable_path
    return installed or (own if Path(own).is_file() else None)


@contextmanager
def launched():
    """Yield a Chromium, whose pages wait as long as a busy machine needs.

    While it runs, no test can use asyncio: let no fixture of the whole session hold it.
    """
    with sync_playwright() as playwright:
        path = find(playwright)
        assert path, (
            "no Chromium: install one, name it in $CHROMIUM, or `playwright install chromium`"
        )
        chromium = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        expect.set_options(timeout=PATIENCE)
        yield chromium
        chromium.close()


@contextmanager
def watched(browser, may_ask, is_expected=lambda _message: False, **options):
    """Yield a page that, when it is closed, fails the test if anything went wrong in it.

    Args:
        browser: the Chromium.
        may_ask: says of the list of its requests whether it is right.
        is_expected: says of a message of the console whether it is right.
        options: of the browser's context.
    """
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
    context.set_default_timeout(PATIENCE)
    requests, complaints = [], []
    page = context.new_page()
    page.on("request", lambda request: requests.append(request))
    page.on("console", lambda message: is_expected(message.text) or complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    yield page
    context.close()
    assert complaints == []
    assert may_ask(requests), [request.url for request in requests]


if __name__ == "__main__":
    with sync_playwright() as found:
        sys.exit(find(found) is None)
