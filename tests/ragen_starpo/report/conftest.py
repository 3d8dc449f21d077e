"""The browser that the harness's reports are looked at with."""

import pytest

from tests.ragen_bench.pages.conftest import browser
from tests.ragen_bench.pages.report.conftest import visit

__all__ = ["browser", "visit"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if "ragen_starpo/report" in item.path.as_posix():
            item.add_marker(pytest.mark.xdist_group("report"))
