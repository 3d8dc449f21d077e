"""Run directories: what a kill leaves behind, and what does not belong there."""

import dataclasses
import json
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_bench.episodes.evaluation import evaluate, refuse_early
from ragen_bench.errors import UserError
from ragen_bench.models import Completion
from ragen_bench.models.base import CallEngine
from ragen_bench.runs.directory import RunDirectory, open_run, read_run
from ragen_bench.scores.summary import summarise

from ..players import Player


def finish(evaluation, model, path):
    run = evaluate(evaluation, model, path)
    run.unlock()
    return run


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted run of 24 episodes, its bytes and its summary."""
    from ragen_bench.episodes.evaluation import Evaluation
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
    model.slots = 5
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
    monkeypatch.setattr(
        model, "engine", lambda sampling: CallEngine(lambda _: pytest.fail("asked"))
    )
    assert finish(evaluation, model, tmp_path / "run").episodes_file.read_bytes() == episodes


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"not json\n", "line 25 is not a JSON object"),
        (b"[1]\n", "line 25 is not a JSON object"),
        (b'{"env": "ragen/FrozenLake-v0"}\n', "line 25 lacks split, index"),
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


def one_line_error(path, command):
    with pytest.raises(UserError) as caught:
        command(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def read_all(path):
    run = read_run(path)
    list(run.episodes())
    run.seconds()


def test_an_episode_that_is_there_twice_is_refused(whole, tmp_path):
    evaluation, model, path, episodes, _ = whole
    shutil.copytree(path, tmp_path / "run")
    third = episodes.splitlines(keepends=True)[2]
    (tmp_path / "run" / "episodes.jsonl").write_bytes(episodes + third)
    for command in (read_all, lambda run: evaluate(evaluation, model, run)):
        said = one_line_error(tmp_path / "run", command)
        assert "episodes.jsonl line 25 repeats the episode of line 3" in said
        assert "cut the file from that line on and resume" in said


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("index", "0", 'has index "0", which is not a whole number'),
        ("index", True, "has index true, which is not a whole number"),
        ("sample", None, "has sample null, which is not a whole number"),
        ("env", [], "has env a list of 0, which is not a text"),
        ("success", 1, "has success 1, which is not true or false"),
        ("score", float("nan"), "has score NaN, which is not a number"),
        ("score", 10**400, "has score a huge number, which is not a number"),
        ("score", 1.5, "has score 1.5, which is above 1"),
        ("ceiling", -0.1, "has ceiling -0.1, which is below 0"),
        ("outcome", "victory", 'has outcome "victory", which is not '),
        ("turns", {}, "has turns an object, which is not a list"),
        ("turns", [], "has no turn"),
        ("turns", [7], "has turns[0] 7, which is not an object"),
        ("turns", [{}], "has turns[0], which lacks observation, answer"),
    ],
)
def test_a_field_of_another_type_is_refused(whole, tmp_path, field, value, message):
    _, _, path, episodes, _ = whole
    shutil.copytree(path, tmp_path / "run")
    first = json.loads(episodes.split(b"\n")[0])
    bad = json.dumps({**first, field: value}).encode() + b"\n"
    (tmp_path / "run" / "episodes.jsonl").write_bytes(bad + episodes)
    said = one_line_error(tmp_path / "run", read_all)
    assert f"episodes.jsonl line 1 {message}" in said
    assert "cut the file from that line on and resume" in said


@pytest.mark.parametrize("line", [b"\xff\xfe{}", b"[" * 100_000, b""])
def test_bytes_that_are_no_json_are_refused(whole, tmp_path, line):
    _, _, path, episodes, _ = whole
    shutil.copytree(path, tmp_path / "run")
    (tmp_path / "run" / "episodes.jsonl").write_bytes(episodes + line + b"\n")
    assert "line 25 is not a JSON object" in one_line_error(tmp_path / "run", read_all)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{}\n", "lacks env, seconds"),
        (b'{"env": 3, "seconds": 3, "elapsed": 3}\n', "has env 3, which is not a text"),
        (b'{"env": "", "seconds": "3", "elapsed": 3}\n', 'has seconds "3", which is not a number'),
    ],
)
def test_a_timing_of_another_form_is_refused(whole, tmp_path, line, message):
    _, _, path, _, _ = whole
    shutil.copytree(path, tmp_path / "run")
    (tmp_path / "run" / "timings.jsonl").write_bytes(line)
    assert f"timings.jsonl line 1 {message}" in one_line_error(tmp_path / "run", read_all)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"envs": None}, "has envs null, which is not a list"),
        ({"envs": []}, "has envs a list of 0, which is too short"),
        ({"envs": ["ragen/Bandit-v0"]}, 'has envs[0] "ragen/Bandit-v0", which is not an object'),
        ({"envs": [{"id": "ragen/Bandit-v0"}]}, "has envs[0], which lacks instances, spec_hash"),
        (
            {"envs": [{"id": "ragen/Chess-v0", "instances": 1, "spec_hash": ""}]},
            'names the unknown environment "ragen/Chess-v0"',
        ),
        (
            {"envs": [{"id": "ragen/Bandit-v0", "instances": 9999, "spec_hash": ""}]},
            "names more than 256 instances of ragen/Bandit-v0",
        ),
        (
            {"envs": [{"id": "ragen/TwentyQuestions-v0", "instances": 61, "spec_hash": ""}]},
            "names more than 60 instances of ragen/TwentyQuestions-v0",
        ),
        (
            {
                "envs": [{"id": "ragen/TwentyQuestions-v0", "instances": 9, "spec_hash": ""}],
                "split": "sealed",
                "sealed_key_hash": "0",
            },
            "is of the sealed split, which ragen/TwentyQuestions-v0 does not have",
        ),
        ({"response_format": "xml"}, 'has response_format "xml", which is not '),
        (
            {"envs": [{"id": "ragen/Bandit-v0", "instances": 0, "spec_hash": ""}]},
            "names no instance of ragen/Bandit-v0",
        ),
        ({"split": "tset"}, 'has split "tset", which is not '),
        ({"machine": ["fast"]}, "has machine a list of 1, which is not an object"),
        ({"samples": "3"}, 'has samples "3", which is not a whole number'),
    ],
)
def test_a_run_json_with_wrong_fields_is_refused(whole, tmp_path, changes, message):
    _, _, path, _, _ = whole
    shutil.copytree(path, tmp_path / "run")
    file = tmp_path / "run" / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
    assert f"run.json {message}" in one_line_error(tmp_path / "run", read_all)


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


@pytest.mark.parametrize("leftovers", [[".lock"], [".lock", "run.draft"]])
def test_a_run_killed_before_run_json_starts_anew(whole, tmp_path, leftovers):
    evaluation, model, _, episodes, _ = whole
    for name in leftovers:
        (tmp_path / name).write_text("")
    assert finish(evaluation, model, tmp_path).episodes_file.read_bytes() == episodes


def test_two_writers_do_not_meet_in_a_new_directory(small, random_model, tmp_path):
    # The first one is between its lock and its run.json.
    first = RunDirectory(tmp_path, small.config(random_model))
    first.lock()
    (tmp_path / "run.draft").write_text("{")
    with pytest.raises(UserError, match="being written by another process"):
        evaluate(small, random_model, tmp_path)
    first.unlock()


def test_a_refused_directory_is_not_kept_locked(whole, tmp_path):
    evaluation, model, path, _, _ = whole
    shutil.copytree(path, tmp_path / "run")
    other = dataclasses.replace(evaluation, seed=1)
    with pytest.raises(UserError, match="seed: 0 there, 1 here") as caught:
        evaluate(other, model, tmp_path / "run")
    finish(evaluation, model, tmp_path / "run")
    assert caught.value.exit_code == 2


def test_a_file_is_no_run_directory(small, random_model, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is not a directory"):
        evaluate(small, random_model, tmp_path / "file")


def test_another_configuration_is_refused_and_named(whole, tmp_path):
    evaluation, model, path, episodes, _ = whole
    shutil.copytree(path, tmp_path / "run")
    other = dataclasses.replace(evaluation, temperature=0.25)
    with pytest.raises(UserError, match=r"temperature: 1.0 there, 0.25 here") as caught:
        evaluate(other, model, tmp_path / "run")
    assert caught.value.exit_code == 2
    assert (tmp_path / "run" / "episodes.jsonl").read_bytes() == episodes


@pytest.mark.parametrize(
    ("instances", "message"),
    [
        ({"ragen/FrozenLake-v0": 3}, r"\(ragen/FrozenLake-v0: 8 instances there, 3 here\)"),
        (
            {"ragen/FrozenLake-v0": 8, "ragen/Bandit-v0": 2},
            r"\(ragen/Bandit-v0: 0 instances there, 2 here\)",
        ),
    ],
)
def test_other_instances_are_named_without_what_follows_from_them(
    whole, tmp_path, instances, message
):
    evaluation, model, path, _, _ = whole
    shutil.copytree(path, tmp_path / "run")
    with pytest.raises(UserError, match=message):
        evaluate(dataclasses.replace(evaluation, instances=instances), model, tmp_path / "run")


def test_another_specification_and_another_order_are_named(whole, tmp_path):
    evaluation, model, path, _, _ = whole
    shutil.copytree(path, tmp_path / "run")
    file = tmp_path / "run" / "run.json"
    file.write_text(file.read_text().replace('"spec_hash": "', '"spec_hash": "x'))
    with pytest.raises(UserError, match=r"\(ragen/FrozenLake-v0: another specification there\)"):
        evaluate(evaluation, model, tmp_path / "run")
    two = {"ragen/FrozenLake-v0": 1, "ragen/Bandit-v0": 1}
    finish(dataclasses.replace(evaluation, instances=two), model, tmp_path / "two")
    turned = dataclasses.replace(evaluation, instances=dict(reversed(two.items())))
    with pytest.raises(UserError, match=r"\(the environments' order\)"):
        evaluate(turned, model, tmp_path / "two")


def test_what_follows_from_a_difference_is_not_named(whole, tmp_path):
    evaluation, model, path, _, _ = whole
    shutil.copytree(path, tmp_path / "run")
    for changes, said in (
        ({"response_format": "answer"}, '(response_format: "think" there, "answer" here)'),
        ({"history": 1}, "(history: null there, 1 here)"),
        ({"split": "val"}, '(split: "test" there, "val" here)'),
    ):
        other = dataclasses.replace(evaluation, **changes)
        assert said in one_line_error(tmp_path / "run", lambda p, o=other: evaluate(o, model, p))


def test_the_command_and_the_versions_may_differ(whole, tmp_path):
    evaluation, model, path, episodes, _ = whole
    shutil.copytree(path, tmp_path / "run")
    other = dataclasses.replace(evaluation, command="ragen-bench evaluate random")
    assert finish(other, model, tmp_path / "run").episodes_file.read_bytes() == episodes


def test_another_machine_goes_on_and_is_named(whole, tmp_path):
    evaluation, model, path, episodes, _ = whole
    shutil.copytree(path, tmp_path / "run")
    file = tmp_path / "run" / "run.json"
    config = json.loads(file.read_text())
    config["machine"]["threads"] = "777"
    config["versions"]["python"] = "2.7"
    file.write_text(json.dumps(config))
    lines = []
    evaluate(evaluation, model, tmp_path / "run", say=lines.append).unlock()
    here = evaluation.config(model).as_json()
    assert lines[1] == (
        "Note: other bytes may follow than on what began: "
        f'python: "2.7" there, "{here["versions"]["python"]}" here; '
        f'threads: "777" there, "{here["machine"]["threads"]}" here.'
    )
    assert (tmp_path / "run" / "episodes.jsonl").read_bytes() == episodes
    del config["machine"]  # as older versions left it
    config["versions"] = here["versions"]
    file.write_text(json.dumps(config))
    lines.clear()
    evaluate(evaluation, model, tmp_path / "run", say=lines.append).unlock()
    assert len(lines) == 1


@pytest.mark.parametrize("left", [{}, {"episodes.jsonl": b'{"env": "torn'}])
def test_a_run_without_an_episode_gives_way_to_another_configuration(
    small, random_model, tmp_path, left
):
    open_run(tmp_path / "run", small.config(random_model)).unlock()
    for name, content in {**left, "faults.jsonl": b"{}\n", "timings.jsonl": b"{}\n"}.items():
        (tmp_path / "run" / name).write_bytes(content)
    other = dataclasses.replace(small, seed=1)
    refuse_early(other, tmp_path / "run")
    run = finish(other, random_model, tmp_path / "run")
    assert read_run(tmp_path / "run").config.seed == 1
    assert len(list(run.episodes())) == 160
    assert len(run.timings_file.read_text().splitlines()) == 160
    assert not run.faults_file.exists()


def test_a_run_without_an_episode_keeps_its_faults_for_the_same_configuration(
    small, random_model, tmp_path
):
    run = open_run(tmp_path / "run", small.config(random_model))
    run.append_fault(("ragen/Bandit-v0", "test", 0, 0), "asleep")
    run.unlock()
    assert len(list(finish(small, random_model, tmp_path / "run").faults())) == 1


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


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 99}', '{"schema": 1}'])
def test_a_broken_run_json_is_refused(small, random_model, tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(UserError, match=r"run\.json"):
        evaluate(small, random_model, tmp_path)


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
