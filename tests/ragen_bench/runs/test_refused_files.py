"""Damaged files and files of another run are refused, and the place is named."""

import json
import shutil

import pytest

from ragen_bench.episodes.evaluation import play_run
from ragen_bench.errors import UserError
from tests.ragen_bench.runs.support import one_line_error, read_all


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
        play_run(evaluation, model, tmp_path / "run")


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
        play_run(evaluation, model, tmp_path / "run")


def test_an_episode_that_is_there_twice_is_refused(whole, tmp_path):
    evaluation, model, path, episodes, _ = whole
    shutil.copytree(path, tmp_path / "run")
    third = episodes.splitlines(keepends=True)[2]
    (tmp_path / "run" / "episodes.jsonl").write_bytes(episodes + third)
    for command in (read_all, lambda run: play_run(evaluation, model, run)):
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


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 99}', '{"schema": 1}'])
def test_a_broken_run_json_is_refused(small, random_model, tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(UserError, match=r"run\.json"):
        play_run(small, random_model, tmp_path)
