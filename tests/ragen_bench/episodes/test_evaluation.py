"""What an evaluation tells while it runs."""

import dataclasses

import pytest

from ragen_bench.episodes.evaluation import play_run
from ragen_bench.errors import UserError


def test_progress_counts_recorded_episodes_and_every_answer(small, random_model, tmp_path):
    told = []
    run = play_run(small, random_model, tmp_path / "run", lambda *now: told.append(now))
    run.unlock()
    answers = sum(len(episode.turns) for episode in run.episodes())
    solved = sum(bool(episode.success) for episode in run.episodes())
    assert told[0] == (0, 0, "", None)
    assert told[-1] == (160, answers, "ragen/FrozenLake-v0", solved / 160)
    episodes, counts, _, _ = zip(*told, strict=True)
    assert list(episodes) == sorted(episodes)
    assert set(episodes) == set(range(161))
    assert list(counts) == sorted(counts)


def test_what_a_model_cannot_do_leaves_no_directory(small, random_model, tmp_path):
    constrained = dataclasses.replace(small, constrain=True)
    with pytest.raises(UserError, match="cannot constrain responses by a grammar"):
        play_run(constrained, random_model, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []
