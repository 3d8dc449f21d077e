"""An interrupted run goes on to the same bytes."""

import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_bench.episodes.evaluation import play_run
from ragen_bench.models.base import CallEngine
from ragen_bench.runs.directory import read_run
from ragen_bench.scores.summary import summarise
from tests.ragen_bench.runs.support import finish

pytestmark = pytest.mark.slow


def without_seconds(summary):
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in summary["envs"]]
    return {**summary, "envs": rows}


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_run_cut_at_any_byte_resumes_to_the_same_bytes(whole, tmp_path_factory, data):
    evaluation, model, path, episodes, summary = whole
    cut = data.draw(st.integers(0, len(episodes)))
    copy = tmp_path_factory.mktemp("cut") / "run"
    shutil.copytree(path, copy)
    (copy / "episodes.jsonl").write_bytes(episodes[:cut])
    resumed = finish(evaluation, model, copy)
    assert resumed.episodes_file.read_bytes() == episodes
    assert without_seconds(summarise(resumed)) == without_seconds(summary)
    shutil.rmtree(copy.parent)


def test_a_torn_line_is_announced(whole, tmp_path):
    evaluation, model, path, episodes, _ = whole
    shutil.copytree(path, tmp_path / "run")
    (tmp_path / "run" / "episodes.jsonl").write_bytes(episodes[:-20])
    said = []
    play_run(evaluation, model, tmp_path / "run", say=said.append).unlock()
    assert "torn last line" in said[0]
    assert "23 episodes are there already" in said[1]


def test_a_finished_run_asks_the_model_nothing(whole, tmp_path, monkeypatch):
    evaluation, model, path, episodes, _ = whole
    shutil.copytree(path, tmp_path / "run")
    monkeypatch.setattr(
        model, "engine", lambda sampling: CallEngine(lambda _: pytest.fail("asked"))
    )
    assert finish(evaluation, model, tmp_path / "run").episodes_file.read_bytes() == episodes


@pytest.mark.parametrize("leftovers", [[".lock"], [".lock", "run.draft"]])
def test_a_run_killed_before_run_json_starts_anew(whole, tmp_path, leftovers):
    evaluation, model, _, episodes, _ = whole
    for name in leftovers:
        (tmp_path / name).write_text("")
    assert finish(evaluation, model, tmp_path).episodes_file.read_bytes() == episodes


def test_readers_skip_a_torn_last_line_and_leave_it(whole, tmp_path):
    _, _, path, episodes, _ = whole
    shutil.copytree(path, tmp_path / "run")
    (tmp_path / "run" / "timings.jsonl").write_bytes(b'{"seconds"')
    for cut in (1, 20):
        torn = episodes[:-cut]
        (tmp_path / "run" / "episodes.jsonl").write_bytes(torn)
        run = read_run(tmp_path / "run")
        assert len(list(run.episodes())) == 23
        assert run.seconds() == {}
        assert run.episodes_file.read_bytes() == torn
