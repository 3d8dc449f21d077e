"""ALFWorld without its games, which are a download; its package is replaced by a stub."""

import os
import sys

import pytest

from tests.ragen_bench.cli.command import run_alone

pytestmark = pytest.mark.slow
STUB = {
    "textworld/__init__.py": "EnvInfos = dict\n",
    "textworld/challenges.py": "CHALLENGES = {}\n",
    "alfworld/__init__.py": "",
    "alfworld/info.py": "import os\nALFWORLD_DATA = os.environ['ALFWORLD_DATA']\n",
    "alfworld/agents/__init__.py": "",
    "alfworld/agents/environment/__init__.py": "",
    "alfworld/agents/environment/alfred_tw_env.py": (
        "TASK_TYPES = {1: 'pick_and_place_simple'}\nAlfredDemangler = None\n"
    ),
}


def test_missing_games_are_one_line_that_says_how_to_get_them(tmp_path):
    for name, code in STUB.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(code, encoding="utf-8")
    command = ["evaluate", "oracle", "--env", "alfworld:all", "--limit", "1"]
    path = os.pathsep.join((str(tmp_path), *sys.path[1:]))
    data = tmp_path / "data"
    done = run_alone(*command, cwd=tmp_path, ALFWORLD_DATA=str(data), PYTHONPATH=path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"ragen-bench: alfworld:all has no games in {data / 'json_2.1.1' / 'train'}: run "
        "alfworld-download, or set the variable ALFWORLD_DATA to the folder with json_2.1.1\n"
    )
