"""Harbor's own models, agents and trials, in its virtual environment, which `make test` fills."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from ragen_envs.integrations.bridging import Episode, Task
from ragen_envs.integrations.harbor.task_folders import write_task_folders
from tests.ragen_envs.integrations.harbor.test_task_folders import responses_of
from tests.ragen_envs.integrations.verifiers.place import ROOT, environment

PYTHON = ROOT / ".venv-nemo" / "bin" / "python"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="its environment is made with Python 3.13"),
]
TASK = Task("ragen/Sokoban-v0", 4, 0, "test", "plain")
READ = "game"
PLAY = "game 'Up || Down'"
CHEAT = 'mkdir -p /game && echo \'{"response": "Up", "reward": 99.0}\' > /game/responses.jsonl'
REACH = {
    "find / -name 'task.json' -o -name '*.jsonl' -o -name 'ragen*' -o -name solve.sh": "",
    "python3 -c 'import ragen_envs'": "No module named 'ragen_envs'",
    "python3 -c 'import numpy'": "No module named 'numpy'",
    "rm /run/game/socket": "Read-only file system",
    "cp /bin/true /run/game/game": "Read-only file system",
    "touch /bin/other": "Read-only file system",
    "python3 -c 'import socket; socket.create_connection((\"1.1.1.1\", 80))'": "unreachable",
    "ls -d /proc/[0-9]* | wc -l": "",
    "ls /home /etc/passwd /solution/* /tests/*": "No such file",
}
"""Attempts of an agent to reach the game, with what they print as an error."""


def run(*arguments):
    program = [PYTHON, *map(str, arguments)]
    variables = {**environment(), "PYTHONWARNINGS": "ignore"}
    return subprocess.run(
        program, cwd=ROOT, env=variables, capture_output=True, encoding="utf-8", check=False
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("harbor") / "tasks"
    write_task_folders(out, [TASK])
    [folder] = out.iterdir()
    return folder


@pytest.fixture(scope="module")
def played(folder):
    secret = folder.parent / "secret"
    secret.write_text("of this machine", encoding="utf-8")
    link = f"ln -s {secret} /logs/agent/link"
    driver = Path(__file__).with_name("driver.py")
    trials = folder.parents[1] / "trials"
    before = {*Path("/tmp").glob("ragen-*")}
    done = run(driver, folder, trials, READ, PLAY, CHEAT, link, *REACH)
    assert done.returncode == 0, done.stderr
    assert not {*Path("/tmp").glob("ragen-*")} - before
    return json.loads(done.stdout)


def test_harbor_finds_the_folder_valid(played):
    assert played["is_valid"] is True
    assert played["name"] == "ragen/sokoban-v0-test-0004-noise-0"


def test_harbors_oracle_gets_the_return_of_the_suites(played, folder):
    episode = Episode(TASK.env, TASK.split, TASK.response_format)
    episode.reset(TASK.seed)
    for response in responses_of(folder):
        episode.step(response)
    expected = {"reward": episode.total_reward, "success": 1, "turns": len(episode.turns)}
    assert played["oracle"]["error"] is None
    assert played["oracle"]["rewards"] == {**expected, "score": episode.info["score"]}


def test_an_agent_that_does_nothing_gets_nothing(played):
    assert played["nop"]["rewards"] == {"reward": 0, "success": 0, "turns": 0}


def test_an_agent_plays_by_the_command_and_gets_what_it_played(played):
    episode = Episode(TASK.env, TASK.split, TASK.response_format)
    first = episode.reset(TASK.seed)
    turn = episode.step("Up || Down")
    printed = played["runner"]["printed"]
    assert first in printed["instruction"]
    assert printed[READ] == [0, f"{first}\n", ""]
    assert printed[PLAY] == [0, f"{turn.observation}\n", ""]
    assert printed["sleep"] == "Command timed out after 1 seconds"
    assert printed[CHEAT][0] == 0
    assert played["runner"]["rewards"] == {"reward": turn.reward, "success": 0, "turns": 1}


def test_an_agent_reaches_nothing_of_the_game_but_its_socket(played):
    printed = played["runner"]["printed"]
    for command, error in REACH.items():
        code, _, err = printed[command]
        assert error in err, command
        assert (code == 0) == (not error), command
    assert printed["/logs/agent/link"].endswith("No such file or directory")
    assert printed["/logs/agent/none"].endswith("No such file or directory")
    found, processes = (printed[each][1] for each in (*REACH,)[:: len(REACH) - 2])
    assert found == "/game/responses.jsonl\n"  # its own, which no one reads
    assert int(processes) < 9


def test_a_folder_of_another_origin_is_one_line(folder, tmp_path):
    other = tmp_path / "task"
    shutil.copytree(folder, other)
    shutil.rmtree(other / "environment" / "server")
    done = run(Path(__file__).with_name("driver.py"), other, tmp_path / "trials")
    assert done.stderr.splitlines()[-1] == (
        f"FileNotFoundError: {other}/environment/server/task.json is missing; GameEnvironment "
        "plays the folders that `ragen-bench export --as harbor` writes"
    )


def test_another_version_of_harbor_and_a_missing_bubblewrap_are_a_line_each():
    code = (
        "import importlib.metadata, os, warnings; "
        "warnings.simplefilter('always'); "
        "warnings.showwarning = lambda message, *_: print(message); "
        "find = importlib.metadata.version; "
        "importlib.metadata.version = lambda name: '0.31.2' if name == 'harbor' else find(name); "
        "from ragen_envs.integrations.harbor.environment import GameEnvironment; "
        "GameEnvironment.preflight(); os.environ['PATH'] = ''; GameEnvironment.preflight()"
    )
    done = run("-c", code)
    assert done.stdout.splitlines()[-1] == (
        "ragen_envs.integrations.harbor.environment is tested with harbor 0.26, and 0.31.2 is "
        "installed; if it fails: pip install 'harbor==0.26.*'"
    )
    assert done.stderr == "GameEnvironment needs bubblewrap: apt install bubblewrap\n"
