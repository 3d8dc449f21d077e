"""`evaluate vllm/NAME-OR-DIR` as its user types it, and types it again after an interruption."""

import json
import shutil

import pytest

from .conftest import command_of

pytestmark = pytest.mark.xdist_group("vllm")


def lines(run):
    return (run / "episodes.jsonl").read_bytes().splitlines(keepends=True)


def test_the_command_plays_the_suite_and_shows_its_table(finished):
    said, run = finished
    assert "Suite score" in said
    assert "Traceback" not in said
    episodes = [json.loads(line) for line in lines(run)]
    assert len(episodes) == 12
    assert sum(len(episode["turns"]) for episode in episodes) > 24
    turns = [turn for episode in episodes for turn in episode["turns"]]
    assert all(0 < turn["completion_tokens"] <= 6 for turn in turns)
    assert all(turn["prompt_tokens"] > 100 for turn in turns)
    config = json.loads((run / "run.json").read_text())
    assert (config["slots"], config["group_size"]) == (2, 8)
    assert config["model_identity"]["dtype"] == "bfloat16"


def test_a_resumed_run_ends_with_the_same_bytes_in_another_process(finished, model_name, processes):
    _, run = finished
    whole = lines(run)
    resumed = processes.folder("resumed") / "run"
    shutil.copytree(run, resumed)
    # The second group has lost episodes, one of them in the middle of its line.
    (resumed / "episodes.jsonl").write_bytes(b"".join(whole[:9]) + whole[9][:40])
    processes.start("resumed", *command_of(model_name))
    processes.finish("resumed")
    assert "9 episodes are there already" in " ".join(processes.said("resumed").split())
    assert lines(resumed) == whole
