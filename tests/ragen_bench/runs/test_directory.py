"""Run directories: one writer at a time, and nothing else is touched."""

import dataclasses
import shutil

import pytest

from ragen_bench.episodes.evaluation import play_run
from ragen_bench.errors import UserError
from ragen_bench.models import Completion
from ragen_bench.runs.directory import RunDirectory, open_run, read_run
from tests.ragen_bench.players import Player
from tests.ragen_bench.runs.support import finish


def test_two_writers_do_not_meet(small, random_model, tmp_path):
    run = open_run(tmp_path / "run", small.config(random_model))
    with pytest.raises(UserError, match="being written by another process"):
        play_run(small, random_model, tmp_path / "run")
    run.unlock()
    finish(small, random_model, tmp_path / "run")


def test_two_writers_do_not_meet_in_a_new_directory(small, random_model, tmp_path):
    # The first one is between its lock and its run.json.
    first = RunDirectory(tmp_path, small.config(random_model))
    first.lock()
    (tmp_path / "run.draft").write_text("{")
    with pytest.raises(UserError, match="being written by another process"):
        play_run(small, random_model, tmp_path)
    first.unlock()


def test_a_refused_directory_is_not_kept_locked(whole, tmp_path):
    evaluation, model, path, _, _ = whole
    shutil.copytree(path, tmp_path / "run")
    other = dataclasses.replace(evaluation, seed=1)
    with pytest.raises(UserError, match="seed: 0 there, 1 here") as caught:
        play_run(other, model, tmp_path / "run")
    finish(evaluation, model, tmp_path / "run")
    assert caught.value.exit_code == 2


def test_a_file_is_no_run_directory(small, random_model, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is not a directory"):
        play_run(small, random_model, tmp_path / "file")


def test_a_directory_with_other_things_is_left_alone(small, random_model, tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(UserError, match="not empty and holds no run"):
        play_run(small, random_model, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_reading_what_is_no_run(tmp_path):
    with pytest.raises(UserError, match="holds no run"):
        read_run(tmp_path)


def test_answers_that_utf8_cannot_hold_are_kept(small, tmp_path):
    class Strange(Player):
        def complete(self, requests, sampling):
            return [Completion("\ud800 \x00 \r\n \u2028 √") for _ in requests]

    run = finish(small, Strange(), tmp_path / "run")
    assert {turn.answer for episode in run.episodes() for turn in episode.turns} == {
        "\ud800 \x00 \r\n \u2028 √"
    }
