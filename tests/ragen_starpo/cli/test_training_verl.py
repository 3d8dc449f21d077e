"""Settings of the recipe and of verl, and how the files of a run are followed."""

import json

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.cli.run_files import FileFollower, follow_files
from ragen_starpo.cli.training import (
    read_iteration_metrics,
    split_settings,
)


def test_settings_are_split_between_the_recipe_and_verl():
    recipe = ["seed=1", "rollouts.samples=8", "critic.learning_rate=1", "cluster.nodes=2"]
    verl = ["trainer.logger=[file]", "critic.model.x=1", "+data.seed=3", "~trainer.x", "nope=1"]
    assert split_settings([*recipe, *verl]) == (recipe, verl)


def test_a_run_is_followed_line_by_line(tmp_path):
    file, read = tmp_path / "lines.jsonl", []
    lines = [json.dumps({"iteration": number}) + "\n" for number in range(5)]
    file.write_text("".join(lines[:3]))
    follower = FileFollower(file, read.append)
    follower.read_new_lines()
    file.write_text("".join(lines[:2]))
    follower.read_new_lines()
    assert read == []
    file.write_text("".join(lines[:4]) + lines[4][:5])
    follower.read_new_lines()
    assert read == [{"iteration": 2}, {"iteration": 3}]


def test_the_last_lines_are_read_when_the_run_is_over(tmp_path):
    file, read = tmp_path / "lines.jsonl", []
    with follow_files({file: read.append}):
        file.write_text('{"iteration": 0}\n')
    assert read == [{"iteration": 0}]


def test_figures_are_those_of_the_iteration_that_was_timed(tmp_path):
    lines = [{"iteration": 4, "a/b": 1.5}, {"iteration": 5, "a/b": 2.5, "val/success": 0.25}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "metrics.jsonl").write_text(text + '{"iteration": 6, "a')
    found = read_iteration_metrics(tmp_path, {"iteration": 5, "updates": 3.25})
    assert found == {"a/b": 2.5, "val/success": 0.25, "seconds/updates": 3.25}


def test_a_mistake_that_following_finds_is_raised_at_its_end(tmp_path):
    def refuse(line):
        raise UserError(f"not {line['iteration']}")

    with pytest.raises(UserError, match="not 7"), follow_files({tmp_path / "a": refuse}):
        (tmp_path / "a").write_text('{"iteration": 7}\n')
