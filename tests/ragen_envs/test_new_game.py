"""A new game of the suite is a folder in `ragen_envs/games`, and nothing else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ragen_bench.suites import SUITES

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "third_party_game" / "lamp_game"
VERSION = SUITES["full"].version + 1
USES = """
import gymnasium, ragen_envs
from docs.build_games import tables
from ragen_bench.analysis.failures import find_labeler, find_labels
from ragen_bench.suites import SUITES, held_out_size
from ragen_envs.integrations.openenv.package import _find_reward_range

ID = "ragen/Lamps-v0"
assert ID in ragen_envs.IDS
assert gymnasium.make(ID, split="val").reset(seed=0)[1]["optimal_length"] >= 2
assert [*SUITES["full"].chosen] == [*ragen_envs.IDS]
assert SUITES["full"].version == {version}
assert not any(ID in suite.chosen for name, suite in SUITES.items() if name != "full")
assert held_out_size(ID) == 256
assert type(find_labeler(ID)).__name__ == "LampFailures"
assert "wrong_lamp" in find_labels(ID)
assert _find_reward_range(ID) == (-0.1, 1.0)
pages = {path.name: text for path, text in tables()}
assert f"| `{ID}` | 18 lamps, two to six presses |" in pages["environments.md"]
assert "| `wrong_lamp` | Lamps | The presses" in pages["analysis.md"]
assert "- games/lamps.md" in pages["mkdocs.yml"]
"""


@pytest.fixture
def path(tmp_path):
    """The path of a copy of `ragen_envs`, by links, with one more folder."""
    games = tmp_path / "ragen_envs" / "games"
    games.mkdir(parents=True)
    for source, target in ((ROOT / "ragen_envs", games.parent), (ROOT / "ragen_envs/games", games)):
        for entry in source.iterdir():
            if entry.name not in ("games", "__pycache__"):
                (target / entry.name).symlink_to(entry)
    for file in EXAMPLE.rglob("*.*"):
        if file.suffix not in (".py", ".txt"):
            continue
        text = file.read_text().replace("lamp_game", "ragen_envs.games.lamps")
        text = text.replace('    namespace="lamps",\n', f"    suite_version={VERSION},\n")
        text = text.replace('{"lamps": None}', "{}")
        new = games / "lamps" / file.relative_to(EXAMPLE)
        new.parent.mkdir(exist_ok=True, parents=True)
        new.write_text(text)
    return os.pathsep.join(map(str, (tmp_path, ROOT, ROOT / "trainers")))


def test_a_new_folder_is_a_new_game_everywhere(path, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", USES.replace("{version}", str(VERSION))],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_game_without_its_instances_is_one_line(path, tmp_path):
    for file in (tmp_path / "ragen_envs/games/lamps/instances").iterdir():
        file.unlink()
    for command in ("audit", "describe"):
        done = subprocess.run(
            [sys.executable, "-m", "ragen_bench", command, "Lamps-v0"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        [line] = done.stderr.splitlines()
        assert line.startswith("ragen-bench: ragen_envs.games.lamps ships no held-out instances in")
        assert line.endswith("with `python -m ragen_envs.cli.build_held_out`")
