"""What verl keeps one of in a process: its platform, and torch's process group."""

import os

import pytest

from ragen_starpo.engine.platform import prepare, release


@pytest.fixture(scope="package", autouse=True)
def in_process_group():
    """Hold the process group, and leave it; the platform stays that of the CPU."""
    prepare()
    before = dict(os.environ)
    yield
    release()
    assert dict(os.environ) == {**before, "PYTEST_CURRENT_TEST": os.environ["PYTEST_CURRENT_TEST"]}


def on_one_worker(items, folder):
    """Let the tests of a folder share a worker of xdist, so that verl is imported once.

    Args:
        items: all tests.
        folder: of tests, such as "ragen_starpo/engine".
    """
    for item in items:
        if folder in item.path.as_posix():
            item.add_marker(pytest.mark.xdist_group("verl"))
