"""Commands in a folder of their own: whose it is, and what a failure says."""

import sys

import pytest

from ragen_bench.errors import UserError
from ragen_starpo.commands import Commands, Stage


def ignored(stage, seconds):
    pass


def test_what_other_commands_made_is_not_gone_on_with(tmp_path):
    agent = tmp_path / "agent"
    Commands().run(agent, [], {"recipe": {"seed": 1}}, ignored)
    Commands().run(agent, [], {"recipe": {"seed": 1}}, ignored)
    with pytest.raises(UserError, match="the results of other commands"):
        Commands().run(agent, [], {"recipe": {"seed": 2}}, ignored)
    (agent / "plan.json").rename(agent / "thesis")
    with pytest.raises(UserError, match="holds other files"):
        Commands().run(agent, [], {"recipe": {"seed": 1}}, ignored)


def test_a_command_that_fails_says_why(tmp_path):
    wrong = Stage("model", "ragen-train", ("small-model", "small", "--sed", "1"))
    with pytest.raises(UserError, match=r"small-model small --sed 1` failed: .*--sed"):
        Commands().run(tmp_path / "agent", [wrong], {}, ignored)
    assert not (tmp_path / "agent" / "stages.jsonl").exists()


def test_each_command_computes_on_one_thread(tmp_path, monkeypatch):
    """So that several, each on a core, do not disturb each other."""
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "threads: $OMP_NUM_THREADS"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    stage = Stage("training", "ragen-train", ("local", "small"))
    Commands().run(tmp_path / "agent", [stage], {}, ignored)
    assert "threads: 1\n" in (tmp_path / "agent/log.txt").read_text()
