"""A stranger's training run, whose files are spoiled: it goes on, or is refused in a line."""

import json
import os
from functools import partial
from random import Random

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.iteration import Iteration
from ragen_starpo.local.run import TrainingDirectory, check_run, is_finished, recorded_day
from ragen_starpo.local.train import resume_run
from ragen_starpo.local.untrained import warn_if_untrained
from ragen_starpo.recipes.recipe import recipe_of
from tests.ragen_starpo.files import assert_one_line, spoil, spoil_json
from tests.ragen_starpo.report.runs import ENVS, make_run, metrics

LINES = ("metrics.jsonl", "timings.jsonl", "warnings.jsonl")
VALIDATION = {"every": 1, "instances": 2}
RECIPE = recipe_of(
    {"model": "m", "envs": ENVS, "iterations": 31, "validation": VALIDATION}, "a test"
)


class Trainer:
    """A driver whose iterations are those of a run that was never played."""

    driver = "local"

    def adapt(self, settings):
        assert settings.temperature > 0

    def iterate(self, number):
        return Iteration(number, True, {"rollout/reward": 1.0, "trained_tokens": 3}, {}, [], None)

    def validate(self, folder):
        return {"success": 0.5}

    def save(self, folder):
        folder.mkdir(exist_ok=True)

    def save_checkpoint(self, folder):
        (folder / "policy").mkdir()

    def load_checkpoint(self, folder):
        assert folder.is_dir()


def begin(folder):
    """Write a run of 30 iterations, of which 29 have a checkpoint."""
    make_run(folder, metrics(30), RECIPE.as_json())
    (folder / "start.json").write_text('{"val/success": 0.25, "date": "2026-01-31"}')
    for done in (28, 29):
        (folder / f"checkpoints/iteration_{done:06d}/policy").mkdir(parents=True)
        (folder / f"checkpoints/iteration_{done:06d}/driver.txt").write_text("local\n")
    return folder


def go_on(folder):
    recorded_day(folder)
    is_finished(folder, 31)
    run = TrainingDirectory(folder, RECIPE)
    run.record_day("2026-02-01")
    resume_run(RECIPE, Trainer(), run, lambda _: None)
    warn_if_untrained(run.lines("metrics.jsonl"))


def test_a_run_goes_on(tmp_path):
    folder = begin(tmp_path / "run")
    go_on(folder)
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").open()]
    assert [line["iteration"] for line in lines] == list(range(31))
    assert is_finished(folder, 31)
    assert recorded_day(folder) == "2026-01-31"


def test_spoiled_files_are_read_or_refused_in_a_line(tmp_path):
    for seed in range(160):
        random, folder = Random(seed), begin(tmp_path / str(seed))
        newest = "checkpoints/iteration_000029/driver.txt"
        name = random.choice(("recipe.json", "start.json", newest, *LINES))
        text = (folder / name).read_text()
        if name in LINES:
            lines = text.splitlines(keepends=True)
            place = random.randrange(len(lines)) if lines else 0
            how = random.choice((spoil_json, lambda line, random: spoil(line.encode(), random)))
            before = "".join(lines[:place]).encode()
            found = how(lines[place], random) if lines else b"{}\n"
            content = before + found + "".join(lines[place + 1 :]).encode()
        elif name == newest:
            content = spoil(text.encode(), random)
        else:
            content = spoil_json(text, random)
        (folder / name).write_bytes(content)
        assert_one_line(partial(go_on, folder), seed)


@pytest.mark.parametrize("name", ["checkpoints", "rollouts", "metrics.jsonl", ".lock", "best"])
def test_a_link_by_which_a_run_would_be_written_elsewhere_is_refused(tmp_path, name):
    folder, mine = begin(tmp_path / "run"), tmp_path / "mine"
    (mine / "iteration_000040").mkdir(parents=True)
    (mine / "iteration_000040/thesis.txt").write_text("mine")
    if (folder / name).exists():
        (folder / name).rename(folder / "moved")
    (folder / name).symlink_to(mine)
    with pytest.raises(UserError, match=f"{name} is a link or a device.*choose another --out"):
        go_on(folder)
    assert (mine / "iteration_000040/thesis.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["start.json", "recipe.json", "metrics.jsonl"])
def test_a_pipe_is_refused(tmp_path, name):
    folder = begin(tmp_path / "run")
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(UserError, match="is a link or a device"):
        check_run(folder, RECIPE)


def test_files_among_folders_do_not_matter(tmp_path):
    folder = begin(tmp_path / "run")
    (folder / "checkpoints/iteration_000099").write_text("a file")
    (folder / "checkpoints/notes.txt").write_text("a file")
    (folder / "rollouts").mkdir()
    (folder / "rollouts/iteration_000099").write_text("a file")
    go_on(folder)
    assert is_finished(folder, 31)
