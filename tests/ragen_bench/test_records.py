"""Run directories: what a kill leaves behind, and what does not belong there."""

import dataclasses
import json
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_bench.errors import UserError
from ragen_bench.evaluation import evaluate
from ragen_bench.records import open_run, read_run
from ragen_bench.summary import summarise


def finish(evaluation, model, path):
    run = evaluate(evaluation, model, path)
    run.unlock()
    return run


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted run of 24 episodes, its bytes and its summary."""
    from ragen_bench.evaluation import Evaluation
    from ragen_bench.models import resolve

    evaluation = Evaluation(
        model="random",
        suite="",
        instances={"ragen/FrozenLake-v0": 8},
        split="test",
        response_format="think",
        samples=3,
        seed=0,
        temperature=1.0,
        max_tokens=8,
    )
    model = resolve("random")
    model.batch_size = 5
    path = tmp_path_factory.mktemp("whole") / "run"
    run = finish(evaluation, model, path)
    return evaluation, model, path, run.episodes_file.read_bytes(), summarise(run)


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
    evaluate(evaluation, model, tmp_path / "run", say=said.append).unlock()
    assert "torn last line" in said[0]
    assert "23 episodes are there already" in said[1]


def test_a_finished_run_asks_the_model_nothing(whole, tmp_path, monkeypatch):
    evaluation, model, path, episodes, _ = whole
    shutil.copytree(path, tmp_path / "run")
    monkeypatch.setattr(model, "complete", lambda *_: pytest.fail("asked"))
    assert finish(evaluation, model, tmp_path / "run").episodes_file.read_bytes() == episodes


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"not json\n", "line 25 is not a JSON object"),
        (b"[1]\n", "line 25 is not a JSON object"),
        (b'{"env": "ragen/FrozenLake-v0"}\n', "line 25 lacks index"),
    ],
)
def test_a_foreign_line_is_refused_with_its_number(whole, tmp_path, line, message):
    evaluation, model, path, episodes, _ = whole
    shutil.copytree(path, tmp_path / "run")
    (tmp_path / "run" / "episodes.jsonl").write_bytes(episodes + line)
    with pytest.raises(UserError, match=message):
        evaluate(evaluation, model, tmp_path / "run")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("split", "val", "which run.json does not name"),
        ("env", "ragen/Sokoban-v0", "which run.json does not name"),
        ("index", 8, "instance 8, sample 0, beyond"),
        ("sample", 3, "sample 3, beyond"),
    ],
)
def test_an_episode_of_another_run_is_refused(whole, tmp_path, field, value, message):
    evaluation, model, path, episodes, _ = whole
    shutil.copytree(path, tmp_path / "run")
    first = json.loads(episodes.split(b"\n")[0])
    foreign = json.dumps({**first, field: value}).encode() + b"\n"
    (tmp_path / "run" / "episodes.jsonl").write_bytes(episodes + foreign)
    with pytest.raises(UserError, match=message):
        evaluate(evaluation, model, tmp_path / "run")


def test_another_configuration_is_refused_and_named(whole, tmp_path):
    evaluation, model, path, episodes, _ = whole
    shutil.copytree(path, tmp_path / "run")
    other = dataclasses.replace(evaluation, temperature=0.25)
    with pytest.raises(UserError, match=r"temperature: 1.0 there, 0.25 here") as caught:
        evaluate(other, model, tmp_path / "run")
    assert caught.value.exit_code == 2
    assert (tmp_path / "run" / "episodes.jsonl").read_bytes() == episodes


def test_the_command_and_the_versions_may_differ(whole, tmp_path):
    evaluation, model, path, episodes, _ = whole
    shutil.copytree(path, tmp_path / "run")
    other = dataclasses.replace(evaluation, command="ragen-bench evaluate random")
    assert finish(other, model, tmp_path / "run").episodes_file.read_bytes() == episodes


def test_two_writers_do_not_meet(small, random_model, tmp_path):
    run = open_run(tmp_path / "run", small.config(random_model))
    with pytest.raises(UserError, match="being written by another process"):
        evaluate(small, random_model, tmp_path / "run")
    run.unlock()
    finish(small, random_model, tmp_path / "run")


def test_a_directory_with_other_things_is_left_alone(small, random_model, tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(UserError, match="not empty and holds no run"):
        evaluate(small, random_model, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 99}'])
def test_a_broken_run_json_is_refused(small, random_model, tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(UserError, match=r"run\.json"):
        evaluate(small, random_model, tmp_path)


def test_reading_what_is_no_run(tmp_path):
    with pytest.raises(UserError, match="holds no run"):
        read_run(tmp_path)


def test_answers_that_utf8_cannot_hold_are_kept(small, tmp_path):
    class Strange:
        batch_size = 64

        def identity(self):
            return {}

        def complete(self, requests, sampling):
            from ragen_bench.models import Completion

            return [Completion("\ud800 \x00 \r\n \u2028 √") for _ in requests]

    run = finish(small, Strange(), tmp_path / "run")
    assert {turn["answer"] for e in run.episodes() for turn in e["turns"]} == {
        "\ud800 \x00 \r\n \u2028 √"
    }
