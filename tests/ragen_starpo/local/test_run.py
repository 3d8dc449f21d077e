"""A run's directory: what makes one, and what is refused before anything is loaded."""

import json
import shutil

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
    with pytest.raises(UserError, match=r"notes.txt is a file; choose a folder"):
        train(recipe(), small, tmp_path / "notes.txt")
    with pytest.raises(UserError, match=r"notes.txt is a file; choose a folder"):
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


def test_a_finished_run_is_left_as_it_is(small, tmp_path, monkeypatch):
    out = tmp_path / "run"
    never = recipe(checkpoint_every=0)
    train(never, small, out)
    before = {file: file.stat().st_mtime_ns for file in out.rglob("*") if file.is_file()}
    with monkeypatch.context() as patched:
        patched.setattr("ragen_starpo.local.train.Trainer", lambda *_: pytest.fail("loaded"))
        assert train(never, small, out).path == out
    now = {file: file.stat().st_mtime_ns for file in out.rglob("*") if file.is_file()}
    assert now == before
    longer, seen = recipe(checkpoint_every=0, iterations=3), []
    train(longer, small, out, seen.append)
    assert [iteration.number for iteration in seen] == [2]
    assert json.loads((out / "recipe.json").read_text())["iterations"] == 3
    train(longer, small, tmp_path / "at once")
    assert lines(out) == lines(tmp_path / "at once")
    weights = [run / "final/model.safetensors" for run in (out, tmp_path / "at once")]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    with pytest.raises(UserError, match="has 3 iterations already; give iterations=3 or more"):
        train(recipe(checkpoint_every=0, iterations=1), small, out)
    assert json.loads((out / "recipe.json").read_text())["iterations"] == 3


def test_a_run_that_was_ended_later_is_not_finished(small, tmp_path):
    out = tmp_path / "run"
    train(recipe(), small, out)
    with (out / "metrics.jsonl").open("a") as file:
        file.write('{"iteration": 2}\n')
    train(recipe(), small, out)
    assert [line["iteration"] for line in lines(out)] == [0, 1]


@pytest.mark.parametrize("lost", ["final", "checkpoints"])
def test_a_run_that_is_cut_off_at_its_end_is_finished(small, tmp_path, lost):
    out = tmp_path / "run"
    train(recipe(), small, out)
    weights = (out / "final/model.safetensors").read_bytes()
    before = lines(out)
    if lost == "final":
        shutil.rmtree(out / "final")
    else:
        shutil.rmtree(out / "checkpoints/iteration_000002")
    train(recipe(), small, out)
    assert (out / "final/model.safetensors").read_bytes() == weights
    assert lines(out) == before
    assert (out / "checkpoints/iteration_000002").is_dir()
