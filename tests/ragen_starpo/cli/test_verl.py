"""Whose setting it is, and how a run is followed."""

import json

from ragen_starpo.cli.verl import Following, split_settings


def test_whose_setting_it_is():
    own = ["seed=1", "rollouts.samples=8", "critic.learning_rate=1", "cluster.nodes=2"]
    verls = ["trainer.logger=[wandb]", "critic.model.x=1", "+data.seed=3", "~trainer.x", "nope=1"]
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
