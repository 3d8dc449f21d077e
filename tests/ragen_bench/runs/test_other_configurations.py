"""A run is not continued with another configuration, and what differs is named."""

import dataclasses
import json
import shutil

import pytest

from ragen_bench.episodes.evaluation import play_run, refuse_early
from ragen_bench.errors import UserError
from ragen_bench.runs.directory import open_run, read_run
from tests.ragen_bench.runs.support import finish, one_line_error


def test_another_configuration_is_refused_and_named(whole, tmp_path):
    evaluation, model, path, episodes, _ = whole
    shutil.copytree(path, tmp_path / "run")
    other = dataclasses.replace(evaluation, temperature=0.25)
    with pytest.raises(UserError, match=r"temperature: 1.0 there, 0.25 here") as caught:
        play_run(other, model, tmp_path / "run")
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
        play_run(dataclasses.replace(evaluation, instances=instances), model, tmp_path / "run")


def test_another_specification_and_another_order_are_named(whole, tmp_path):
    evaluation, model, path, _, _ = whole
    shutil.copytree(path, tmp_path / "run")
    file = tmp_path / "run" / "run.json"
    file.write_text(file.read_text().replace('"spec_hash": "', '"spec_hash": "x'))
    with pytest.raises(UserError, match=r"\(ragen/FrozenLake-v0: another specification there\)"):
        play_run(evaluation, model, tmp_path / "run")
    two = {"ragen/FrozenLake-v0": 1, "ragen/Bandit-v0": 1}
    finish(dataclasses.replace(evaluation, instances=two), model, tmp_path / "two")
    turned = dataclasses.replace(evaluation, instances=dict(reversed(two.items())))
    with pytest.raises(UserError, match=r"\(the environments' order\)"):
        play_run(turned, model, tmp_path / "two")


def test_what_follows_from_a_difference_is_not_named(whole, tmp_path):
    evaluation, model, path, _, _ = whole
    shutil.copytree(path, tmp_path / "run")
    for changes, said in (
        ({"response_format": "answer"}, '(response_format: "think" there, "answer" here)'),
        ({"history": 1}, "(history: null there, 1 here)"),
        ({"split": "val"}, '(split: "test" there, "val" here)'),
    ):
        other = dataclasses.replace(evaluation, **changes)
        assert said in one_line_error(tmp_path / "run", lambda p, o=other: play_run(o, model, p))


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
    play_run(evaluation, model, tmp_path / "run", say=lines.append).unlock()
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
    play_run(evaluation, model, tmp_path / "run", say=lines.append).unlock()
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
