"""The cheats of `cheats.py`: where they work, and that none does on sealed as it is played."""

import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from ragen_bench.runs.directory import read_run
from ragen_envs.core.sealed import KEY_VARIABLE, key_hash, new_key

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="bubblewrap is for Linux"),
    pytest.mark.xdist_group("cheats"),
]
THERE = Path(__file__).parent
OF_THE_PROCESS = {"own_functions", "variables", "frames", "garbage"}
MAYBE = {"own_functions", "memory_of_parent", "traced_parent"}
"""What else works there, the latter two where the kernel lets a process trace its parent."""
OF_THE_MACHINE = {
    *("variables", "variables_of_others", "files_around"),
    *("entry_of_the_oracle", "network", "unix_socket", "written", "started", "forked"),
}


@pytest.fixture(scope="module")
def event(tmp_path_factory):
    """The folder of a host, as docs/competition.md has it, where a port and a socket listen."""
    folder, key = tmp_path_factory.mktemp("event"), new_key()
    (folder / "key.txt").write_text(key)
    (folder / "runs/oracle").mkdir(parents=True)
    (folder / "runs/oracle/episodes.jsonl").write_text("the oracle's answers")
    with ExitStack() as open_sockets:
        listening = open_sockets.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = listening.getsockname()[1]
        local = open_sockets.enter_context(socket.socket(socket.AF_UNIX))
        local.bind(f"\0ragen{port}")
        local.listen()
        source = (THERE / "cheats.py").read_text()
        source = source.replace("the published hash", key_hash(key))
        (folder / "cheats.py").write_text(source.replace("PORT = 0", f"PORT = {port}"))
        yield folder


def played(event, kind, name):
    """Return which cheats worked, the answers without them, and how many episodes were solved."""
    out = event / "runs" / f"{kind}-{name}"
    done = subprocess.run(
        [sys.executable, THERE / "scorer.py", kind, f"python:cheats:{name}", out],
        cwd=event,
        env={
            **os.environ,
            KEY_VARIABLE: (event / "key.txt").read_text(),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    episodes = list(read_run(out).episodes())
    answers = [turn.answer for episode in episodes for turn in episode.turns]
    named, said = zip(*(answer.split("]", 1) for answer in answers), strict=True)
    assert len(set(named)) == 1
    worked = set(named[0].removeprefix("<think>[").split())
    return worked, said, sum(bool(episode.success) for episode in episodes)


@pytest.fixture(scope="module")
def honest(event):
    worked, said, solved = played(event, "sandbox", "Honest")
    assert not worked
    return said, solved


def test_in_the_scorers_process_a_cheat_wins(event, honest):
    worked, _, solved = played(event, "none", "Cheat")
    assert worked >= OF_THE_PROCESS
    assert solved == 6 > honest[1]


def test_in_a_process_of_its_own_it_reads_what_its_user_can(event, honest):
    worked, _, solved = played(event, "process", "Cheat")
    assert worked - MAYBE == OF_THE_MACHINE
    assert solved == 6


def test_on_sealed_no_cheat_works_and_it_plays_as_an_honest_player(event, honest):
    (event / "leak").unlink(missing_ok=True)
    worked, *played_so = played(event, "sandbox", "Cheat")
    # The test's folder lies in /tmp, of which an isolated agent has one of its own.
    assert worked <= {"written"}
    assert tuple(played_so) == honest
    assert not (event / "leak").exists()
