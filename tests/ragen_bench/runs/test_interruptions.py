"""A run that is killed, loses its server or gets other slots ends with the same bytes."""

import dataclasses
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragen_bench.episodes.evaluation import Evaluation, play_run
from ragen_bench.runs.directory import read_run
from ragen_bench.scores.summary import summarise
from tests.waiting import wait_for_lines

from ..players import Unordered

pytestmark = pytest.mark.slow

EVALUATION = Evaluation(
    model="unordered",
    suite="",
    instances={"ragen/Sokoban-v0": 6, "ragen/FrozenLake-v0": 6},
    split="test",
    response_format="think",
    samples=2,
    seed=5,
    temperature=1.0,
    max_tokens=8,
)


def finish(path, model, evaluation=EVALUATION):
    run = play_run(evaluation, model, path)
    run.unlock()
    return run


def bytes_of(path):
    return (path / "episodes.jsonl").read_bytes()


@given(st.integers(0, 2**32), st.integers(1, 20))
@settings(max_examples=15, deadline=None)
def test_the_bytes_do_not_depend_on_the_order_of_answers(tmp_path_factory, order, slots):
    folder = tmp_path_factory.mktemp("runs")
    finish(folder / "one", Unordered(0))
    model = Unordered(order)
    model.slots = slots
    finish(folder / "other", model)
    assert bytes_of(folder / "one") == bytes_of(folder / "other")


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_a_run_whose_server_fails_now_and_then_is_completed_by_the_same_command(
    tmp_path_factory, data
):
    folder = tmp_path_factory.mktemp("runs")
    whole = finish(folder / "whole", Unordered(0))
    episodes = {episode.key for episode in whole.episodes()}
    asleep = data.draw(st.sets(st.sampled_from(sorted(episodes)), min_size=1, max_size=7))

    def fails(key):
        env, split, index, sample = key.rsplit("/", 4)[:4]
        return (env, split, int(index), int(sample)) in asleep

    run = finish(folder / "run", Unordered(data.draw(st.integers(0, 99)), fails))
    assert {episode.key for episode in run.episodes()} == episodes - asleep
    assert {fault.key for fault in run.faults()} == asleep
    finish(folder / "run", Unordered(1))
    assert bytes_of(folder / "run") == bytes_of(folder / "whole")


def test_faults_are_counted_apart_and_in_no_denominator(tmp_path):
    whole = summarise(finish(tmp_path / "whole", Unordered(0)))
    run = finish(tmp_path / "run", Unordered(0, lambda key: "/3/" in key or "/0/1/" in key))
    summary = summarise(run)
    asleep = sum(1 for _ in run.faults())
    assert 4 < asleep < 24
    assert (summary["episodes"], summary["infra_faults"]) == (24 - asleep, asleep)
    assert sum(row["episodes"] for row in summary["envs"]) == 24 - asleep
    played = [episode for episode in run.episodes() if episode.env == "ragen/FrozenLake-v0"]
    [row] = [row for row in summary["envs"] if row["env"] == "ragen/FrozenLake-v0"]
    assert row["success"] == round(sum(e.success for e in played) / len(played), 6)
    completed = summarise(finish(tmp_path / "run", Unordered(1)))
    assert completed["infra_faults"] == 0
    for row in (*whole["envs"], *completed["envs"]):
        del row["seconds"]
    assert completed == whole


def killed(path, order, lines):
    """Start a run in another process, and kill it once it has written so many episodes."""
    command = [sys.executable, "-m", "tests.ragen_bench.runs.slow_run", str(path), str(order)]
    root = Path(__file__).parents[3]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root) as child:
        assert child.stdout.readline() == b"ready\n"
        wait_for_lines(path / "episodes.jsonl", lines, child)
        child.send_signal(signal.SIGKILL)
    return child.returncode


@given(st.lists(st.integers(0, 23), min_size=1, max_size=3), st.integers(0, 99))
@settings(max_examples=8, deadline=None)
def test_a_killed_run_ends_with_the_bytes_of_a_whole_one(tmp_path_factory, counts, order):
    folder = tmp_path_factory.mktemp("killed")
    whole = finish(folder / "whole", Unordered(0))
    seen = set()
    for lines in counts:
        killed(folder / "run", order, lines)
        if (folder / "run" / "run.json").is_file():
            kept = {episode.key for episode in read_run(folder / "run").episodes()}
            assert seen <= kept  # what was there stays
            seen = kept
    finish(folder / "run", Unordered(order + 1))
    assert bytes_of(folder / "run") == bytes_of(folder / "whole")
    assert sum(1 for _ in whole.episodes()) == 24


def test_the_child_can_be_killed_in_the_midst(tmp_path):
    file = tmp_path / "run" / "episodes.jsonl"
    assert killed(tmp_path / "run", 0, 2) == -signal.SIGKILL
    assert 2 <= file.read_bytes().count(b"\n") < 24


def test_only_answers_that_depend_on_each_other_are_played_again(tmp_path):
    class Grouped(Unordered):
        group_size = 4

    finish(tmp_path / "run", Grouped(0))
    lines = bytes_of(tmp_path / "run").splitlines(keepends=True)
    (tmp_path / "run" / "episodes.jsonl").write_bytes(b"".join(lines[:9]))
    (tmp_path / "run" / "timings.jsonl").unlink()
    said = []
    play_run(EVALUATION, Grouped(0), tmp_path / "run", say=said.append).unlock()
    assert bytes_of(tmp_path / "run") == b"".join(lines)
    assert said == [
        f"Resuming {tmp_path / 'run'}: 9 episodes are there already; the 1 of the unfinished group "
        "is played again, so that the bytes are the same."
    ]
    # The group of the lines 9 to 12, of which one was there, and the three after it.
    timings = (tmp_path / "run" / "timings.jsonl").read_text().splitlines()
    assert len(timings) == 16
    assert all(json.loads(line)["seconds"] >= 0 for line in timings)


def test_other_slots_go_on_with_a_run_but_not_with_one_of_groups(tmp_path):
    def config(slots, group_size):
        model = Unordered(0)
        model.slots, model.group_size = slots, group_size
        return EVALUATION.config(model).as_json() | {"versions": {}}

    assert config(4, 1) == config(8, 1)
    assert config(4, 8) != config(8, 8)


def test_the_draft_of_a_reordering_that_was_killed_does_no_harm(tmp_path):
    finish(tmp_path / "run", Unordered(0))
    whole = bytes_of(tmp_path / "run")
    (tmp_path / "run" / "episodes.draft").write_bytes(whole[:100])
    lines = whole.splitlines(keepends=True)
    (tmp_path / "run" / "episodes.jsonl").write_bytes(b"".join(reversed(lines)))
    finish(tmp_path / "run", Unordered(0), dataclasses.replace(EVALUATION, command="again"))
    assert bytes_of(tmp_path / "run") == whole
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == [
        ".lock",
        "episodes.jsonl",
        "run.json",
        "timings.jsonl",
    ]
