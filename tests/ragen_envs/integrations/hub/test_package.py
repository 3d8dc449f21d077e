"""The wheel of a suite, which verifiers' own commands find and validate."""

import json
import re
import subprocess
import sys

import pytest

from ragen_bench.suites import SUITES
from ragen_envs.cli import main
from ragen_envs.integrations.hub import members
from tests.ragen_envs.integrations.driver import ROOT, environment
from tests.ragen_envs.integrations.verifiers.place import NEEDS_VERIFIERS, PYTHON, driver

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "verifiers.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_has_the_ids_of_the_harness(name):
    assert members(name) == list(SUITES[name].chosen)


@NEEDS_VERIFIERS
def test_the_wheel_of_a_suite_is_valid(tmp_path):
    out, wheels, installed = tmp_path / "quick", tmp_path / "wheels", tmp_path / "installed"
    assert main(["package", "quick", "--verifiers", "--out", str(out)]) == 0
    build = [sys.executable, "-m", "build", "--wheel", "--outdir", str(wheels), str(out)]
    subprocess.run(build, check=True, capture_output=True)
    [wheel] = wheels.iterdir()
    assert wheel.name == "ragen_quick-0.1.0-py3-none-any.whl"
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", str(installed), wheel]
    subprocess.run(pip, check=True, capture_output=True)
    text = (out / "README.md").read_text(encoding="utf-8")
    command = re.search("^vf-validate (.*)", text, re.MULTILINE)[1].split()
    environ = environment()
    environ["PYTHONPATH"] += f":{installed}"
    done = subprocess.run(
        [PYTHON.with_name("vf-validate"), *command, "--no-rich", "-o", "out", "--run.name", "run"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "out" / "run" / "summary.json").read_text())
    played = 4 * len(SUITES["quick"].chosen)
    assert (summary["outcomes"]["valid"], summary["total"]) == (played, played)


@NEEDS_VERIFIERS
def test_a_source_of_prime_rl_is_read_by_verifiers():
    """prime-rl hands the table `env` of a source to verifiers; the rest is its own."""
    [shown] = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    code = f"""
import tomllib
from verifiers.v1.utils.loaders import load_environment, resolve_env_config
[source] = tomllib.loads({shown!r})["orchestrator"]["train"]["source"]
tasks = list(load_environment(resolve_env_config(source["env"])).taskset)
print(len(tasks), tasks[0].data.id, tasks[-1].data.id, tasks[0].data.response_format)
"""
    assert driver().ask(code=code) == (
        "1024 ragen/FrozenLake-v0/train/0/0 ragen/FrozenLake-v0/train/1023/0 answer\n"
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cores", "there is no suite 'cores'; choose one of quick, core, core-2, full"),
        ("ragen/FrozenLak-v0", "environment 'ragen/FrozenLak-v0' is not known: did you mean"),
    ],
)
def test_a_mistake_is_one_line(name, message, tmp_path, capsys):
    assert main(["package", name, "--verifiers", "--out", str(tmp_path / "new")]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith(f"ragen-envs: {message}")
    assert not (tmp_path / "new").exists()
