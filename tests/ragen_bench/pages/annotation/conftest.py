"""Two runs by different players, and the episodes of one of them."""

import pytest

from ragen_bench.episodes.evaluation import Evaluation, evaluate
from ragen_bench.models import resolve
from tests.ragen_bench.pages.report.browser import PATIENCE, launched


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
    evaluate(evaluation, resolve(model), path).unlock()
    return path


@pytest.fixture
def page():
    with launched() as chromium:
        opened = chromium.new_page()
        opened.set_default_timeout(PATIENCE)
        wrong = []
        opened.on("pageerror", lambda error: wrong.append(str(error)))
        opened.on("console", lambda message: wrong.append(message.text))
        yield opened
    assert wrong == []
