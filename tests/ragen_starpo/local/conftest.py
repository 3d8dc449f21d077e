"""A process that verl shares with the engine's tests."""

import pytest

from tests.ragen_starpo.verl_process import on_one_worker, process_group


def pytest_collection_modifyitems(items):
    on_one_worker(items, "ragen_starpo/local")


@pytest.fixture(scope="package", autouse=True)
def in_process_group():
    with process_group():
        yield
