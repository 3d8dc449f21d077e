"""Whose setting it is, and how a run is followed."""

import json

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.cli.verl import split_settings
from ragen_starpo.console.following import Following, figures_of


def test_whose_setting_it_is():
    own = ["seed=1", "rollouts.samples=8", "critic.learning_rate=1", "cluster.nodes=2"]
    verls = ["trainer.logger=[file]", "critic.model.x=1", "+data.seed=3", "~trainer.x", "nope=1"]
    assert split_settings([*own, *verls]) == (own, verls)


def test_a_run_is_followed_line_by_line(tmp_path):
    file, told = tmp_path / "lines.jsonl", []
    lines = [json.dumps({"iteration": number}) + "\n" for number in range(5)]
    file.write_text("".join(lines[:3]))
    followed = Following(file, told.append)
    followed.look()
    file.write_text("".join(lines[:2]))
    followed.look()
    assert told == []
    file.write_text("".join(lines[:4]) + lines[4][:5])
    followed.look()
    assert told == [{"iteration": 2}, {"iteration": 3}]


def test_the_last_lines_are_told_when_the_run_is_over(tmp_path):
    file, told = tmp_path / "lines.jsonl", []
    with Following(file, told.append):
        file.write_text('{"iteration": 0}\n')
    assert told == [{"iteration": 0}]


def test_figures_are_those_of_the_iteration_that_was_timed(tmp_path):
    lines = [{"iteration": 4, "a/b": 1.5}, {"iteration": 5, "a/b": 2.5, "val/success": 0.25}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "metrics.jsonl").write_text(text + '{"iteration": 6, "a')
    found = figures_of(tmp_path, {"iteration": 5, "updates": 3.25})
    assert found == {"a/b": 2.5, "val/success": 0.25, "seconds/updates": 3.25}


def test_a_mistake_that_following_finds_is_raised_at_its_end(tmp_path):
    def refuse(line):
        raise UserError(f"not {line['iteration']}")

    with pytest.raises(UserError, match="not 7"), Following(tmp_path / "a", refuse):
        (tmp_path / "a").write_text('{"iteration": 7}\n')
