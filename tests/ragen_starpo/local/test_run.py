"""A run's directory: what makes one, and what is refused before anything is loaded."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.errors import UserError
from ragen_starpo.iteration import Iteration
from ragen_starpo.local.run import TrainingDirectory, check_run
from ragen_starpo.local.train import resume_run, train
from ragen_starpo.recipes.recipe import recipe_of

pytestmark = pytest.mark.slow

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
    "records": {"every": 0},
}


def recipe(**changed):
    return recipe_of({**SETTINGS, **changed}, "a test")


def lines(run, name="metrics"):
    return [json.loads(line) for line in (run / f"{name}.jsonl").read_text().splitlines()]


def test_a_mistake_leaves_no_run(small, tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError):
        train(recipe(), tmp_path / "empty", tmp_path / "run")
    assert not (tmp_path / "run").exists()
    monkeypatch.setattr("ragen_starpo.local.train.Trainer", lambda *_: pytest.fail("loaded"))
    with pytest.raises(UserError, match="unknown environment 'Bandi-v0'"):
        train(recipe(envs=["Bandi-v0"]), small, tmp_path / "run")
    with pytest.raises(UserError, match=r"shaping\.python=no_such:reward cannot be imported"):
        train(recipe(shaping={"python": "no_such:reward"}), small, tmp_path / "run")
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
    with pytest.raises(UserError, match=r"recipe.json is not a JSON object; choose another --out"):
        check_run(tmp_path, recipe())


def test_a_run_that_is_begun(tmp_path):
    check_run(tmp_path / "run", recipe())
    assert not (tmp_path / "run").exists()
    TrainingDirectory(tmp_path / "run", recipe())
    check_run(tmp_path / "run", recipe(name="other", records={"every": 3, "groups": 1}))
    with pytest.raises(UserError, match=r"other settings \(seed: recorded 0, given 1\)"):
        check_run(tmp_path / "run", recipe(seed=1))


def test_what_is_measured_may_change_within_a_run(tmp_path):
    """And may not have been among the settings yet when it was begun."""
    TrainingDirectory(tmp_path, recipe(response_format="think"))
    measured = {"thoughts": 4, "gradients": 2}
    check_run(tmp_path, recipe(response_format="think", diagnostics=measured))
    settings = json.loads((tmp_path / "recipe.json").read_text())
    assert settings.pop("diagnostics") == {"thoughts": 0, "gradients": 0}
    (tmp_path / "recipe.json").write_text(json.dumps(settings))
    check_run(tmp_path, recipe(response_format="think", diagnostics={"thoughts": 4}))


@pytest.mark.parametrize("action", ["stop", "adapt"])
def test_thoughts_may_not_change_where_the_monitor_acts_on_them(tmp_path, action):
    """A record without the table had none."""
    kept = {"response_format": "think", "monitor": {"action": action}}
    TrainingDirectory(tmp_path, recipe(**kept))
    check_run(tmp_path, recipe(**kept, diagnostics={"gradients": 2}))
    refused = r"other settings \(diagnostics.thoughts: recorded 0, given 4\)"
    with pytest.raises(UserError, match=refused):
        check_run(tmp_path, recipe(**kept, diagnostics={"thoughts": 4}))
    settings = json.loads((tmp_path / "recipe.json").read_text())
    del settings["diagnostics"]
    (tmp_path / "recipe.json").write_text(json.dumps(settings))
    check_run(tmp_path, recipe(**kept))
    with pytest.raises(UserError, match=refused):
        check_run(tmp_path, recipe(**kept, diagnostics={"thoughts": 4}))


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


class Scripted:
    """A driver whose held-out success is written down, by how many iterations it has made."""

    driver = "scripted"
    errors = MappingProxyType({})

    def __init__(self, successes):
        self.successes, self.done = successes, 0
        self.measured = []

    def adapt(self, settings):
        pass

    def iterate(self, number):
        self.done = number + 1
        figures = {"rollout/reward": 0.0, "rollout/reward_deviation": 1.0, "filter/kept": 1.0}
        error = self.errors.get(number)
        figures |= {"rollout/failed": 2} if error else {}
        return Iteration(number, True, figures, {}, [], error)

    def validate(self, folder):
        self.measured.append(self.done)
        return {"success": self.successes[self.done]}

    def save(self, folder):
        folder.mkdir(exist_ok=True)
        (folder / "model").write_text(str(self.done))

    def save_checkpoint(self, folder):
        (folder / "state").write_text(str(self.done))

    def load_checkpoint(self, folder):
        self.done = int((folder / "state").read_text())


def scripted(out, successes, **changed):
    iterations, made = [], recipe(**changed)
    trainer = Scripted(successes)
    resume_run(made, trainer, TrainingDirectory(out, made), iterations.append)
    return trainer


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5]), min_size=6, max_size=6), st.integers(1, 7))
def test_the_best_model_is_the_first_of_the_highest_that_was_measured(successes, every):
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        trainer = scripted(out, successes, iterations=5, validation={"every": every})
        measured = [0, *(done for done in range(1, 6) if done % every == 0 or done == 5)]
        assert trainer.measured == measured
        best = max(measured, key=lambda done: successes[done])
        assert (out / "best/model").read_text() == str(best)
        assert json.loads((out / "start.json").read_text()) == {"val/success": successes[0]}
        found = {line["iteration"] + 1: line.get("val/success") for line in lines(out)}
        assert found == {
            done: successes[done] if done in measured else None for done in range(1, 6)
        }


def test_the_start_is_measured_once(tmp_path):
    cut = {"iterations": 4, "checkpoint_every": 2, "validation": {"every": 2}}
    scripted(tmp_path / "run", [0.5, 0, 0.25, 0, 0.25], **cut)
    shutil.rmtree(tmp_path / "run/checkpoints/iteration_000004")
    trainer = scripted(tmp_path / "run", [1.0, 1, 1, 1, 0.5], **cut)
    assert trainer.measured == [4]
    assert (tmp_path / "run/best/model").read_text() == "0"


def test_iterations_that_left_groups_out_are_told(tmp_path, monkeypatch):
    """And those of iterations that are played again are not told twice."""
    out, cut = tmp_path / "run", {"iterations": 3, "checkpoint_every": 2}
    monkeypatch.setattr(Scripted, "errors", {1: "OSError: gone", 2: "ValueError"})
    scripted(out, [], **cut)
    told = [{"iteration": 1, "groups": 2, "error": "OSError: gone"}]
    assert lines(out, "failures") == [*told, {"iteration": 2, "groups": 2, "error": "ValueError"}]
    shutil.rmtree(out / "checkpoints/iteration_000003")
    monkeypatch.setattr(Scripted, "errors", {})
    scripted(out, [], **cut)
    assert lines(out, "failures") == told


def test_without_validation_nothing_is_measured(tmp_path):
    assert scripted(tmp_path / "run", [0.5] * 3, iterations=2).measured == []
    names = {file.name for file in (tmp_path / "run").iterdir()}
    assert not names & {"best", "start.json"}


def test_the_latest_two_checkpoints_are_kept(tmp_path):
    out = tmp_path / "run"
    scripted(out, [0.0] * 6, iterations=5)
    assert sorted(file.name for file in (out / "checkpoints").iterdir()) == [
        "iteration_000004",
        "iteration_000005",
    ]
    (out / "checkpoints/.iteration_000006.draft").mkdir()
    scripted(out, [0.0] * 8, iterations=6)
    assert sorted(file.name for file in (out / "checkpoints").iterdir()) == [
        "iteration_000005",
        "iteration_000006",
    ]


def test_one_process_writes_a_run(tmp_path):
    run = TrainingDirectory(tmp_path / "run", recipe())
    command = [sys.executable, "-c", HOLDS, str(tmp_path / "run/.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(UserError, match=r"run is being written by another process") as refused:
            resume_run(recipe(), Scripted([0.0] * 3), run, print)
        assert refused.value.exit_code == 1
        assert not (tmp_path / "run/metrics.jsonl").exists()
        other.stdin.close()
    scripted(tmp_path / "run", [0.0] * 3)
    assert len(lines(tmp_path / "run")) == 2


HOLDS = """
import sys, filelock
with filelock.FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_other_drivers_checkpoint_is_refused(tmp_path):
    scripted(tmp_path / "run", [0.0] * 3)
    longer = recipe(iterations=3)
    other = Scripted([0.0] * 4)
    other.driver = "another"
    run = TrainingDirectory(tmp_path / "run", longer)
    with pytest.raises(UserError, match="was started by ragen-train scripted; continue with"):
        resume_run(longer, other, run, print)
    assert len(lines(tmp_path / "run")) == 2
    scripted(tmp_path / "run", [0.0] * 4, iterations=3)
    assert len(lines(tmp_path / "run")) == 3
