"""One run for the tests of a file."""

import pytest

from ragen_bench.opponents.opponent import ModelPair

from .support import finish
from .test_opponent_pair import Batched


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of players that reply well, at random and without form, in batches."""
    return finish(tmp_path_factory.mktemp("pair") / "run", ModelPair(Batched(), Batched(), "plain"))


@pytest.fixture(scope="module")
def episodes(run):
    """The lines of its episodes."""
    return [line for line, _ in run.recorded()]
