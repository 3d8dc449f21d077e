"""The script of the workflow `draw`, between clones of one repository that push at once."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ragen_bench.cli import main
from tests.ragen_bench.leaderboard.test_pull_request import ROOT, commit, git

pytestmark = pytest.mark.slow

WORKFLOW = ROOT / ".github/workflows/draw.yml"
ONE, TWO = 0.3, 0.4
"""The temperatures that are announced, by which the draws are told from each other."""
PYTHON = """\
#!/usr/bin/env bash
# Makes an "environment" that installs nothing: its ragen-bench is the one under test.
mkdir -p "${@: -1}/bin"
printf '#!/bin/sh\\n' > "${@: -1}/bin/python"
printf '#!/bin/sh\\nPYTHONPATH=%s exec %s -m ragen_bench "$@"\\n' > "${@: -1}/bin/ragen-bench"
chmod +x "${@: -1}/bin/python" "${@: -1}/bin/ragen-bench"
"""


@pytest.fixture(scope="module")
def announced(tmp_path_factory):
    """Two announcements of which the installed package computes the hashes."""
    folder = tmp_path_factory.mktemp("announced")
    for name, temperature in (("one", ONE), ("two", TWO)):
        options = ["--suite", "quick", "--temperature", str(temperature)]
        assert main(["announce", "random", *options, "--out", str(folder / f"{name}.json")]) == 0
    return folder


@pytest.fixture
def origin(tmp_path, announced):
    """The bare repository of a leaderboard, in which `one` is announced."""
    seed = tmp_path / "seed"
    (seed / "leaderboard/announcements").mkdir(parents=True)
    shutil.copy(announced / "one.json", seed / "leaderboard/announcements")
    shutil.copytree(ROOT / ".github", seed / ".github")
    git(tmp_path, "init", "-q", "-b", "main", str(seed))
    commit(seed)
    git(tmp_path, "clone", "-q", "--bare", str(seed), "origin.git")
    shutil.rmtree(seed)
    return tmp_path / "origin.git"


@pytest.fixture
def clone(origin):
    def cloned(name):
        git(origin.parent, "clone", "-q", str(origin), name)
        return origin.parent / name

    return cloned


@pytest.fixture
def announce(clone, announced):
    """Pushes an announcement, or another text in its place."""

    def pushed(name="two", text=None):
        own = clone(f"contender-{name}")
        text = (announced / f"{name}.json").read_text() if text is None else text
        (own / f"leaderboard/announcements/{name}.json").write_text(text)
        commit(own)
        git(own, "push", "-q")

    return pushed


@pytest.fixture
def draw(tmp_path):
    """Runs the command of the workflow in a clone, with nothing installed."""
    (tmp_path / "bin").mkdir()
    python = tmp_path / "bin/python3"
    python.write_text(PYTHON.replace("%s", str(ROOT), 1).replace("%s", sys.executable, 1))
    python.chmod(0o755)
    content = yaml.safe_load(WORKFLOW.read_text())
    (command,) = [step["run"] for step in content["jobs"]["draw"]["steps"] if "run" in step]
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"

    def run(folder):
        return subprocess.run(
            ["bash", "-e", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
        )

    return run


def drawn(origin):
    """Return the values of the draws that were pushed, and see that none was ever another one."""
    log = git(origin, "log", "--no-renames", "--format=", "--name-status", "main", "--",
              "leaderboard/draws").splitlines()  # fmt: skip
    changes = [line.split("\t") for line in log if line]
    assert {change for change, _ in changes} <= {"A"}
    names = [name for _, name in changes]
    assert len(names) == len(set(names))
    found = {}
    for name in names:
        draw = json.loads(git(origin, "show", f"main:{name}"))
        assert Path(name).stem == draw["commitment"]
        found[draw["announcement"]["temperature"]] = draw["value"]
    return found


def test_draws_are_pushed_once(origin, clone, draw):
    done = draw(clone("a"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("drawn    one.json: leaderboard/draws/")
    assert git(origin, "log", "--format=%an", "-1", "main") == "github-actions[bot]"
    assert git(origin, "show", "--format=", "--name-only", "main").startswith("leaderboard/draws/")
    first, top = drawn(origin), git(origin, "rev-parse", "main")
    assert first.keys() == {ONE}
    done = draw(clone("b"))
    assert (done.returncode, done.stdout.partition(": ")[0]) == (0, "kept     one.json")
    assert (drawn(origin), git(origin, "rev-parse", "main")) == (first, top)


def test_a_refused_announcement_stops_no_other(origin, clone, announce, draw):
    announce("two", "{}")
    done = draw(clone("a"))
    assert done.returncode == 1
    assert "REFUSED  two.json: announcement: lacks " in done.stdout
    assert drawn(origin).keys() == {ONE}


@pytest.mark.parametrize("more", [False, True])
def test_the_second_of_two_draws_gives_way(origin, clone, announce, draw, more):
    """Both have drawn for one; what the second has drawn beside that is not lost.

    It was announced after the first was cloned, whose push comes on top of that.
    """
    first = clone("a")
    if more:
        announce("two")
    second = clone("b")
    assert draw(first).returncode == 0
    value = drawn(origin)[ONE]
    done = draw(second)
    assert (done.returncode, done.stdout.count("drawn  ")) == (0, 1 + more), done.stderr
    assert drawn(origin).keys() == ({ONE, TWO} if more else {ONE})
    assert drawn(origin)[ONE] == value
    assert git(second, "status", "--porcelain") == ""
    assert git(second, "rev-parse", "HEAD") == git(origin, "rev-parse", "main")


def test_two_draws_that_are_pushed_at_once(origin, clone, announce, draw):
    """The first one's push comes between the second one's pull and its push."""
    first = clone("a")
    announce("two")
    second = clone("b")
    hook = second / ".git/hooks/pre-push"
    hook.write_text(
        '#!/bin/sh\nrm "$0"\nunset $(git rev-parse --local-env-vars)\n'
        f"cd {first} && .github/draw.sh\n"
    )
    hook.chmod(0o755)
    done = draw(second)
    assert done.returncode == 0, done.stderr
    assert "rejected" in done.stderr
    assert not hook.exists()
    value = json.loads(next((first / "leaderboard/draws").iterdir()).read_text())["value"]
    assert drawn(origin).keys() == {ONE, TWO}
    assert drawn(origin)[ONE] == value


def test_a_push_that_is_never_let_in_is_told(origin, clone, draw):
    hook = origin / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    done = draw(clone("a"))
    assert done.returncode == 1
    assert drawn(origin) == {}


def test_the_workflow_draws_on_main_alone():
    content = yaml.load(WORKFLOW.read_text(), yaml.BaseLoader)  # YAML's `on` is a truth value else
    assert content["on"]["push"] == {
        "branches": ["main"],
        "paths": ["leaderboard/announcements/**"],
    }
    assert content["on"].keys() == {"push", "workflow_dispatch"}
    assert content["permissions"] == {"contents": "read"}
    assert content["concurrency"] == {"group": "draw"}
    (job,) = content["jobs"].values()
    assert job["permissions"] == {"contents": "write"}
    assert job["steps"][0]["with"] == {"ref": "main", "fetch-depth": "0"}
