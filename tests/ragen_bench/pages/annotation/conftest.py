"""Two runs by different players, and the page in a browser."""

import pytest

from ragen_bench.episodes.evaluation import Evaluation, play_run
from ragen_bench.models import resolve
from tests.ragen_bench.pages.browser import watched


@pytest.fixture
def runs(tmp_path):
    return [played(tmp_path / name, name) for name in ("random", "oracle")]


def played(path, model):
    evaluation = Evaluation(
        model=model,
        suite="",
        instances={"ragen/Bandit-v0": 6, "ragen/Sokoban-v0": 2},
        split="val",
        response_format="think",
        samples=1,
        seed=0,
        temperature=1.0,
        max_tokens=8,
    )
    play_run(evaluation, resolve(model), path).unlock()
    return path


@pytest.fixture
def page(browser):
    def asks_the_server_alone(requests):
        return all(request.url.startswith("http://127.0.0.1:") for request in requests)

    with watched(browser, asks_the_server_alone) as page:
        yield page
