"""The wheel installs alone and carries its data; the source distribution holds the repository."""

import re
import subprocess
import sys
import tarfile
import venv

import pytest

from ragen_envs import IDS

from .links import PROJECT, ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("packaging"),
]  # the wheel is built and installed once
IMPORTS = """
import importlib, pkgutil, sys, warnings
# What a module of another project warns of at its own import is not ours.
warnings.simplefilter("error")
for theirs in (r"ray\\b", r"verl\\b"):
    warnings.filterwarnings("ignore", module=theirs)
for name in sys.argv[1:]:
    for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
        # These packages have environments of their own.
        left = ("__main__", "models.vllm.model", "cluster.vllm_adapter")
        left += ("external.alfworld", "external.textworld", "external.scienceworld")
        left += ("harbor.environment", "nemo_gym.server")
        if not (module.name.endswith(left) or ".verifiers" in module.name):
            importlib.import_module(module.name)
"""
USE = """
import sys
import ragen_envs
import gymnasium
from ragen_envs.core.policies import oracle_answer
extra = {m.partition(".")[0] for m in sys.modules} & {"torch", "rich", "jinja2", "ragen_bench"}
assert not extra, extra
for env_id in ragen_envs.IDS:
    for split in ("train", "val", "test"):
        env = gymnasium.make(env_id, split=split)
        env.reset(seed=255)
        ended = env.step("<think></think><answer>Up</answer>")[2]
        while not ended:
            *_, terminated, truncated, info = env.step(oracle_answer(env.unwrapped))
            ended = terminated or truncated
print("played", len(ragen_envs.IDS))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The interpreter of a fresh environment that holds the wheel and its dependencies only."""
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "-q", "--no-deps", "-w", folder, ROOT)
    [wheel] = folder.glob("*.whl")
    venv.create(folder / "venv")
    python = folder / "venv" / "bin" / "python"
    constraints = ROOT / "constraints.txt"
    pip("--python", python, "install", "-q", "--no-compile", "-c", constraints, wheel)
    return python


def pip(*arguments):
    """Run this environment's pip, which needs none in another one."""
    command = [sys.executable, "-m", "pip", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def run(python, *arguments, cwd):
    return subprocess.run([python, *arguments], cwd=cwd, capture_output=True, text=True)


def test_the_environments_need_gymnasium_and_numpy_alone(python, tmp_path):
    done = run(python, "-W", "error", "-c", USE, cwd=tmp_path)
    assert done.stderr == ""
    assert done.stdout == f"played {len(IDS)}\n"
    listed = pip("--python", python, "list", "--format=freeze")
    names = {line.partition("==")[0].lower() for line in listed.splitlines()}
    assert names <= {
        "ragen-bench", "gymnasium", "numpy",
        # what Gymnasium itself needs
        "cloudpickle", "farama-notifications", "typing_extensions",
    }  # fmt: skip


def test_the_recipes_come_along(python, tmp_path):
    code = (
        "from importlib.util import find_spec; from pathlib import Path; "
        "folder = Path(find_spec('ragen_starpo').origin).parent / 'recipes'; "
        "print(sorted(path.name for path in folder.rglob('*.toml')))"
    )
    written = (ROOT / "trainers/ragen_starpo/recipes").rglob("*.toml")
    assert run(python, "-c", code, cwd=tmp_path).stdout == f"{sorted(p.name for p in written)}\n"


def test_the_demos_agent_comes_along(python):
    [packed] = python.parents[1].glob("lib/python*/site-packages/ragen_bench/models/demo_agent")
    shipped = ROOT / "ragen_bench" / "models" / "demo_agent"
    files = [{f.name: f.read_bytes() for f in at.iterdir()} for at in (shipped, packed)]
    assert files[0] == files[1]
    assert "model.safetensors" in files[0]


def test_the_module_prefix_of_gymnasium_works(python, tmp_path):
    code = "import gymnasium; gymnasium.make('ragen_envs:ragen/Sokoban-v0').reset(seed=0)"
    assert run(python, "-c", code, cwd=tmp_path).returncode == 0


def test_a_missing_extra_is_named_in_one_line(python, tmp_path):
    for arguments, extra in (
        (["evaluate", "random"], "ragen-bench[bench]"),
        (["evaluate", "smollm2-135m"], "ragen-bench[bench]"),
    ):
        done = run(python, "-m", "ragen_bench", *arguments, cwd=tmp_path)
        assert done.returncode == 2
        assert f"pip install '{extra}'" in done.stderr
        assert done.stderr.count("\n") == 1


def test_list_and_play_need_no_extra(python, tmp_path):
    assert "ragen/Sokoban-v0" in run(python, "-m", "ragen_bench", "list", cwd=tmp_path).stdout


def test_the_source_distribution_holds_what_is_tracked_and_passes_tests(tmp_path):
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    if not tracked:
        pytest.skip("not a checkout")
    build = [sys.executable, "-m", "build", "--sdist", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    [archive] = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    source = tmp_path / archive.name.removesuffix(".tar.gz")
    held = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    assert held == {*tracked, "PKG-INFO"}
    tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_readme.py"]
    done = run(sys.executable, *tests, cwd=source)
    assert done.returncode == 0, done.stdout


def test_the_citation_is_of_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)", citation, re.MULTILINE)[1] == PROJECT["version"]
    assert PROJECT["urls"]["Source"] in citation


def test_every_module_imports_without_a_warning(tmp_path):
    packages = ["ragen_envs", "ragen_bench"]
    if sys.version_info < (3, 13):  # verl 0.9 is for older ones
        packages.append("ragen_starpo")
    done = run(sys.executable, "-c", IMPORTS, *packages, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
