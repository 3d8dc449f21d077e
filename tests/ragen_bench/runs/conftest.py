"""A whole run that the tests of run directories copy and damage."""

import pytest

from ragen_bench.episodes.evaluation import Evaluation
from ragen_bench.models import resolve
from ragen_bench.scores.summary import summarise
from tests.ragen_bench.runs.support import finish


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted run of 24 episodes, its bytes and its summary."""
    evaluation = Evaluation(
        model="random",
        suite="",
        instances={"ragen/FrozenLake-v0": 8},
        split="test",
        response_format="think",
        samples=3,
        seed=0,
        temperature=1.0,
        max_tokens=8,
    )
    model = resolve("random")
    model.slots = 5
    path = tmp_path_factory.mktemp("whole") / "run"
    run = finish(evaluation, model, path)
    return evaluation, model, path, run.episodes_file.read_bytes(), summarise(run)
