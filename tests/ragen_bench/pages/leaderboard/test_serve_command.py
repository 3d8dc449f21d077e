"""`leaderboard serve` as its user starts and ends it."""

import re
import shutil
import signal
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.ragen_bench.cli.command import COMMAND, run

ENTRY = Path("entries/oracle_quick_test")


@pytest.mark.slow
@pytest.mark.parametrize("kept", [False, True])
def test_it_builds_serves_and_ends(tmp_path, kept):
    board, here = tmp_path / "board", tmp_path / "here"
    shutil.copytree(Path(__file__).parents[4] / "leaderboard" / ENTRY, board / ENTRY)
    here.mkdir()
    out = ["--out", "site"] if kept else []
    arguments = ["leaderboard", "serve", str(board), "--unverified", "--port", "0", *out]
    process = subprocess.Popen([*COMMAND, *arguments], cwd=here, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        url = re.match(r"Serving  (http://127\.0\.0\.1:\d+/) ", line)
        if url:
            break
    with urllib.request.urlopen(f"{url[1]}leaderboard.json") as answer:
        served = answer.read()
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    process.stdout.close()
    assert b"oracle_quick_test" in served
    assert [file.name for file in here.iterdir()] == (["site"] if kept else [])
    if kept:
        assert (here / "site/leaderboard.json").read_bytes() == served


def test_mistakes_are_told_in_one_line(tmp_path):
    for arguments, said in (
        (["build"], "has no entries/"),
        (["serve", "--port", "70000"], "--port is between 0 and 65535"),
        ([], "ACTION"),
    ):
        done = run("leaderboard", *arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
