"""One browser for all tests of pages."""

import pytest

from .browser import launched


@pytest.fixture(scope="package")
def browser():
    with launched() as chromium:
        yield chromium
