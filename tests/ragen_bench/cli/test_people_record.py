"""`play --record` as people start it: in a terminal, and again after it was killed."""

import json
import os
import signal
import sys

import pexpect
import pytest

from ragen_bench.pages.view.folder import RunsFolder
from tests.ragen_bench.cli.command import run

pytestmark = pytest.mark.slow
RECORD = ["play", "Sokoban-v0", "--record", "--limit", "2", "--group", "lab", "--out", "run"]


def test_two_people_in_a_terminal_one_of_them_killed(tmp_path):
    child = pexpect.spawn(
        sys.executable,
        ["-m", "ragen_bench", *RECORD, "--player", "p1"],
        cwd=str(tmp_path),
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        timeout=60,
    )
    child.expect_exact("p1 plays into run: 0 of 2 episodes recorded.")
    child.expect_exact("--- Episode 1 of 2: ragen/Sokoban-v0, test instance 0")
    child.expect_exact("(q ends the game, skip gives it up, ? lists the actions)")
    child.sendline("skip")
    child.expect_exact("It counts as a failure [y/N] ")
    child.sendline("")
    child.expect_exact("> ")
    child.sendline("SKIP")
    child.expect_exact("[y/N] ")
    child.sendline("y")
    child.expect_exact("Skipped, which counts as a failure. Return 0.00, score 0.00.")
    child.expect_exact("--- Episode 2 of 2")
    child.expect_exact("> ")
    child.sendline("fly || Up")
    child.expect_exact("Done: Up. What is not an action was skipped.")
    child.expect_exact("> ")
    child.kill(signal.SIGKILL)
    child.wait()
    other = run(*RECORD, "--player", "p2", cwd=tmp_path)
    assert "1 of 2 episodes recorded. The others are for other people" in other.stdout
    again = run(*RECORD, "--player", "p1", cwd=tmp_path, stdin="Up\nq\n")
    assert "You go on after turn 1." in again.stdout
    assert again.stdout.endswith(
        "> You left. 1 of 2 episodes recorded. The same command goes on from here.\n"
    )
    last = run(*RECORD, "--player", "p1", cwd=tmp_path, stdin="Down\n" * 5)
    assert last.stdout.endswith(
        "2 of 2 episodes recorded. `ragen-bench report run` shows the results.\n"
    )
    report = run("report", "run", cwd=tmp_path)
    assert "human:lab (1 person) on chosen environments, test split" in report.stdout
    assert "Drops   1 of 2 episodes: 1 given up and failed (1 skipped)" in report.stdout
    exported = run("export", "run", "--as", "atif", "--out", "atif", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    written = sorted((tmp_path / "atif").iterdir())
    assert [json.loads(file.read_text())["extra"]["player"] for file in written] == ["p1", "p1"]
    assert RunsFolder(tmp_path).list_runs()[0][0].people == 1
    again = run("evaluate", "human:lab", "--env", "Sokoban-v0", "--out", "run", cwd=tmp_path)
    assert (again.returncode, again.stderr) == (
        2,
        "ragen-bench: human:lab is a person, who has played run: `ragen-bench report run` shows "
        "the results, and the command that recorded it goes on\n",
    )
    replayed = run("replay", "run", cwd=tmp_path)
    assert "Replayed 2 of 2 planned episodes: 2 equal, 0 different." in replayed.stdout
