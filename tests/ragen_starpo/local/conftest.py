"""A process that verl shares with the engine's tests."""

import pytest

from ragen_starpo.engine.platform import prepare, release


def pytest_collection_modifyitems(items):
    for item in items:
        if "ragen_starpo/local" in item.path.as_posix():
            item.add_marker(pytest.mark.xdist_group("verl"))


@pytest.fixture(scope="package", autouse=True)
def process_group():
    prepare()
    yield
    release()
