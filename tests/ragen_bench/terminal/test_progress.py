"""What is said while a run goes on."""

import os
import sys

import pexpect
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.cli.main import main
from ragen_bench.terminal.progress import Pace, PlainProgress, shorten_name
from tests.ragen_bench.cli.command import run

pytestmark = pytest.mark.slow


def test_a_line_comes_at_most_once_a_minute(capsys):
    now = 1000.0
    plain = PlainProgress(64, lambda: now)
    for second in range(200):
        now = 1000.0 + second
        plain.tick(second // 4, second)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "15 of 64 episodes, 60 responses in 1 min, 3.3 min left\n"
        "30 of 64 episodes, 120 responses in 2 min, 2.3 min left\n"
        "45 of 64 episodes, 180 responses in 3 min, 76 s left\n"
    )


def test_time_left_counts_what_this_process_played_and_the_success_so_far():
    now = 0.0
    pace = Pace(100, lambda: now)
    assert pace.describe(0, None) == ""
    resumed = Pace(100, lambda: now)
    assert resumed.describe(40, 0.25) == "25 % solved"
    now = 120.0
    assert resumed.describe(60, 0.5) == "50 % solved, 4 min left"
    assert resumed.describe(60, None) == "4 min left"
    assert resumed.describe(100, 1.0) == "100 % solved"
    assert pace.describe(1, 0.0) == "0 % solved, 3.3 hours left"


AGENT = """
def answer(messages):
    return ""

def broken(messages):
    raise OSError("no more paper")
"""


WAITING = """
import time
from pathlib import Path

asked = 0

def answer(messages):
    global asked
    asked += 1
    while asked > 400 and not Path("seen").exists():
        time.sleep(0.01)
    return ""
"""
"""Stops in the middle of a run until somebody has seen the bar."""


def test_a_run_without_a_terminal_says_how_far_it_is(tmp_path, monkeypatch, capsys):
    (tmp_path / "hasty.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ragen_bench.terminal.progress._PAUSE", 0.0)
    assert main(["evaluate", "python:hasty:answer", "--env", "Bandit-v0", "--limit", "3"]) == 0
    assert "3 of 3 episodes, 3 responses in 0 min, 0 % solved\n" in capsys.readouterr().err


def test_nothing_stands_before_an_error(tmp_path):
    (tmp_path / "hasty.py").write_text(AGENT)
    arguments = ["evaluate", "python:hasty:broken", "--env", "Bandit-v0"]
    done = run(*arguments, cwd=tmp_path)
    assert done.stdout == ""
    assert "raised OSError" in done.stderr.splitlines()[-1]


def test_a_long_name_leaves_room_for_the_bar(tmp_path):
    name = "smile_" * 12 + "end"
    (tmp_path / f"{name}.py").write_text(WAITING)
    child = pexpect.spawn(
        sys.executable,
        [
            "-m",
            "ragen_bench",
            "evaluate",
            f"python:{name}:answer",
            "--env",
            "FrozenLakeNewVocab-v0",
            "--limit",
            "256",
        ],
        cwd=str(tmp_path),
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "COLUMNS": "80", "TERM": "xterm"},
        timeout=120,
    )
    child.expect_exact("python...answer")
    child.expect(r"\d+/256")
    child.expect(r"\d % solved, \d[\d.]* m?s left")
    (tmp_path / "seen").touch()
    child.expect(pexpect.EOF)


@given(st.text("abc/", max_size=80), st.integers(20, 200))
def test_a_name_is_shortened_in_the_middle(name, columns):
    short, longest = shorten_name(name, columns), max(16, columns - 64)
    assert len(short) <= longest
    assert (short == name) == (len(name) <= longest)
    assert short[:6] == name[:6]
    assert short[-6:] == name[-6:]
