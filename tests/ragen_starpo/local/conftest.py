"""The small model, untrained, and a process that verl shares with the engine's tests."""

import pytest

from ragen_starpo.engine.platform import prepare, release
from ragen_starpo.small_model import Shape, make_small_model


def pytest_collection_modifyitems(items):
    for item in items:
        if "ragen_starpo/local" in item.path.as_posix():
            item.add_marker(pytest.mark.xdist_group("verl"))


@pytest.fixture(scope="package", autouse=True)
def process_group():
    prepare()
    yield
    release()


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    make_small_model(folder, Shape(width=32, layers=2, hidden=48), 0)
    return folder
