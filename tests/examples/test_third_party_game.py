"""The example package of a game joins the suite by being installed, with nothing patched."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "third_party_game"


@pytest.fixture
def site(tmp_path):
    """A folder with the package as an installer leaves it."""
    folder = tmp_path / "site"
    shutil.copytree(EXAMPLE / "lamp_game", folder / "lamp_game")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    info = folder / f"lamp_game-{project['version']}.dist-info"
    info.mkdir()
    name, version = project["name"], project["version"]
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    points = project["entry-points"]["ragen_envs.games"]
    lines = "".join(f"{key} = {value}\n" for key, value in points.items())
    (info / "entry_points.txt").write_text(f"[ragen_envs.games]\n{lines}")
    return folder


def python(site, cwd, *arguments):
    """Run Python with the package installed."""
    path = os.pathsep.join(map(str, (site, ROOT, ROOT / "trainers")))
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def bench(site, cwd, *arguments):
    done = python(site, cwd, "-m", "ragen_bench", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("first", ["ragen_envs", "lamp_game.spec", "lamp_game.env"])
def test_it_is_made_and_checked(site, tmp_path, first):
    code = f"""
import {first}, sys, gymnasium, ragen_envs
from ragen_envs.testing import check_text_env
ragen_envs.register_third_party_games()
assert {first == "lamp_game.env"} == ("lamp_game.env" in sys.modules)
env = gymnasium.make("lamps/Lamps-v0", split="val", response_format="plain")
observation, info = env.reset(seed=0)
assert "***......***......" in observation
assert env.step("2 || 11")[2:4] == (True, False)
vector = gymnasium.make_vec("lamps/Lamps-v0", num_envs=2)
assert len(vector.reset(seed=0)[0]) == 2
check_text_env("lamps/Lamps-v0")
assert "lamps/Lamps-v0" not in ragen_envs.IDS
"""
    done = python(site, tmp_path, "-c", code)
    assert (done.returncode, done.stderr) == (0, "")


BRIDGES = {
    "gem": "print(gem.make('lamps:Lamps-v0').reset(seed=0))",
    "skyrl_gym": """
env = skyrl_gym.make('lamps/Lamps-v0', env_config={}, extras={'seed': 0})
print(env.init([]))
""",
    "textarena": """
env = textarena.make('lamps/Lamps-v0')
env.reset(1, 0)
print(env.get_observation())
""",
    "pettingzoo": """
from ragen_envs.integrations.pettingzoo import parallel_env
print(parallel_env('lamps/Lamps-v0').reset(seed=0))
""",
}


@pytest.mark.parametrize("bridge", BRIDGES)
def test_the_bridges_list_it(site, tmp_path, bridge):
    imports = f"import {bridge}, ragen_envs.integrations.{bridge}\n"
    done = python(site, tmp_path, "-c", imports + BRIDGES[bridge])
    assert done.returncode == 0, done.stderr
    assert "There is a row of 18 lamps" in done.stdout


def test_it_is_scored_analysed_and_audited(site, tmp_path):
    listed = bench(site, tmp_path, "list")
    assert "  lamps/Lamps-v0 " in listed
    assert "\n  lamps   games of the namespace lamps;" in listed
    for player, score in (("oracle", 1.0), ("random", 0.0)):
        suite = ("--suite", "lamps", "--limit", "4", "--out", player)
        bench(site, tmp_path, "evaluate", player, *suite)
        [row] = json.loads((tmp_path / player / "summary.json").read_text())["envs"]
        assert (row["env"], row["score"]) == ("lamps/Lamps-v0", score)
    bench(site, tmp_path, "analyse", "random")
    [row] = json.loads((tmp_path / "random" / "analysis.json").read_text())["envs"]
    labels = {failure["label"]: failure["about"] for failure in row["failures"]}
    assert (
        labels["wrong_lamp"]
        == "The presses of this turn left more lamps to be pressed than before."
    )
    audited = bench(site, tmp_path, "audit", "lamps/Lamps-v0", "--levels", "20")
    assert "Every guarantee holds." in audited
    few = ("--levels", "20", "--episodes", "20", "--certificate", "Lamps-v0.json")
    python(site, tmp_path, "-m", "ragen_bench", "audit", "lamps/Lamps-v0", *few)
    answers = json.loads((tmp_path / "Lamps-v0.json").read_text())["answers"]
    answers = {answer["id"]: answer["status"] for answer in answers}
    assert answers["semantic.floor_gap"] == "passed"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("SPEC = GameSpec(", "SPEC = open('/nowhere/spec')\ndict(", "FileNotFoundError: [Errno 2]"),
        ("SPEC = GameSpec(", "SPEC = dict(", "TypeError: the entry point must name a GameSpec"),
        ('namespace="lamps"', 'namespace="ragen"', "ValueError: the namespace 'ragen' is reserved"),
        ('{"lamps": None}', '{"core": None}', "ValueError: the suite 'core' belongs to another"),
        ("Lamps-v0", "Lamps", "ValueError: a variant's name must look like Name-v0, got 'Lamps'"),
        ("(-0.1, 1.0)", "(1.0, 1.0)", "ValueError: reward_range must be (low, high)"),
    ],
)
def test_a_broken_spec_is_one_line_and_leaves_the_suite_alone(site, tmp_path, old, new, says):
    spec = site / "lamp_game" / "spec.py"
    spec.write_text(spec.read_text().replace(old, new, 1))
    code = """
import gymnasium, ragen_envs
ragen_envs.register_third_party_games()
gymnasium.make("ragen/Sokoban-v0").reset(seed=0)
"""
    done = python(site, tmp_path, "-c", code)
    assert done.returncode == 0
    [line] = done.stderr.splitlines()
    assert line.startswith(f"the game 'lamps' of the package lamp-game is left out: {says}")


def test_the_shipped_instances_are_those_of_the_generator(site, tmp_path):
    shutil.rmtree(site / "lamp_game" / "instances")
    assert python(site, tmp_path, "-m", "lamp_game.build").returncode == 0
    for file in (EXAMPLE / "lamp_game" / "instances").iterdir():
        assert (site / "lamp_game" / "instances" / file.name).read_bytes() == file.read_bytes()
