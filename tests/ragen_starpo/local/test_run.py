"""A run's directory: what makes one, and what is refused before anything is loaded."""

import json

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.local.run import TrainingRun, check_run
from ragen_starpo.local.train import train
from ragen_starpo.recipe import recipe_of

SETTINGS = {
    "model": "small",
    "envs": ["Bandit-v0"],
    "response_format": "answer",
    "iterations": 2,
    "checkpoint_every": 1,
    "rollouts": {"instances": 2, "samples": 2, "max_tokens": 3},
    "advantage": {"estimator": "grpo"},
    "filter": {"strategy": "all"},
    "validation": {"every": 0},
}


def recipe(**changed):
    return recipe_of({**SETTINGS, **changed}, "a test")


def lines(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_a_mistake_leaves_no_run(small, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError):
        train(recipe(), tmp_path / "empty", tmp_path / "run")
    assert not (tmp_path / "run").exists()
    monkeypatch.setattr("ragen_starpo.local.train.Trainer", lambda *_: pytest.fail("loaded"))
    with pytest.raises(UserError, match="unknown environment 'Bandi-v0'"):
        train(recipe(envs=["Bandi-v0"]), small, tmp_path / "run")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="holds something else than a training run"):
        train(recipe(), small, tmp_path)
    with pytest.raises(UserError, match="notes.txt is a file; choose a folder"):
        train(recipe(), small, tmp_path / "notes.txt")
    with pytest.raises(UserError, match="notes.txt is a file; choose a folder"):
        train(recipe(), small, tmp_path / "notes.txt/run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("there", ["", "{", "[]", "3"])
def test_a_damaged_record_is_told(tmp_path, there):
    (tmp_path / "recipe.json").write_text(there)
    with pytest.raises(UserError, match=r"recipe.json is damaged; choose another --out"):
        check_run(tmp_path, recipe())


def test_a_run_that_is_begun(tmp_path):
    check_run(tmp_path / "run", recipe())
    assert not (tmp_path / "run").exists()
    TrainingRun(tmp_path / "run", recipe())
    check_run(tmp_path / "run", recipe())
    with pytest.raises(UserError, match=r"another recipe \(recipe.seed: recorded 0, .* 1\)"):
        check_run(tmp_path / "run", recipe(seed=1))
