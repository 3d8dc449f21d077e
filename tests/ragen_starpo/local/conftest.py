"""A process that verl shares with the engine's tests."""

from tests.ragen_starpo.verl_process import in_process_group, on_one_worker  # noqa: F401


def pytest_collection_modifyitems(items):
    on_one_worker(items, "ragen_starpo/local")
