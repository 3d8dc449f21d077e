"""Two small suites, and entries of them."""

import shutil

import pytest

from ragen_bench.suites import SUITES, Suite
from tests.ragen_bench.leaderboard.entries import entry_of, evaluation


@pytest.fixture(scope="package", autouse=True)
def small_suites():
    games = {"ragen/Sokoban-v0": 4, "ragen/FrozenLake-v0": 4}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SUITES, "tiny", Suite(3, "for the tests", games, max_tokens=40))
        patch.setitem(SUITES, "bandit", Suite(1, "for the tests", {"ragen/Bandit-v0": 3}))
        patch.setitem(SUITES, "twice", Suite(1, "for the tests", {"ragen/Bandit-v0": 2}, 40, 2))
        yield


@pytest.fixture(scope="package")
def honest(tmp_path_factory, small_suites):
    return entry_of(tmp_path_factory.mktemp("honest"), evaluation())


@pytest.fixture(scope="package")
def many(tmp_path_factory, small_suites):
    """Eight samples on each instance."""
    return entry_of(tmp_path_factory.mktemp("many"), evaluation(samples=8))


@pytest.fixture
def entry(honest, tmp_path):
    """A copy to be changed."""
    shutil.copytree(honest, tmp_path / "entry")
    return tmp_path / "entry"
