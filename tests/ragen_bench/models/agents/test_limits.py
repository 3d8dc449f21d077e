"""Threads, files and memory of a sandbox, with and without control groups."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from ragen_bench.errors import UserError
from ragen_bench.models.agents import limits
from ragen_bench.models.agents.limits import THREADS, ControlGroups
from ragen_bench.models.base import Request
from tests.ragen_bench.models.own_agent import SAMPLING

from .agents import make_subprocess_model, on_linux

pytestmark = [pytest.mark.slow, on_linux]

THREADED = """
import threading, time

def answer(messages):
    threading.stack_size(1 << 16)
    for number in range(3000):
        try:
            threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        except RuntimeError:
            return f"{number} threads"
    time.sleep(5)
    return f"{number + 1} threads"
"""
FILES = """
import os, time

def answer(messages):
    for number in range(20_000):
        open(f"/tmp/{number}", "w").close()
    time.sleep(5)
    return "all"
"""


def first_answer(model):
    engine = model.engine(SAMPLING)
    engine.submit(Request([], "x", SimpleNamespace(response_format="plain")))
    [(_, answer)] = engine.collect()
    return answer.text


def without_groups(monkeypatch):
    monkeypatch.setattr(limits, "_own_groups", lambda: iter(()))


@pytest.mark.parametrize("limit", ["ulimit -u 300", "ulimit -n 200", "ulimit -v 6000000"])
def test_limits_of_the_shell_may_be_lower(limit, tmp_path):
    (tmp_path / "own.py").write_text("def answer(messages): return 'Up'")
    arguments = "evaluate python:own:answer --isolate --env Bandit-v0 --limit 2 --format plain"
    done = subprocess.run(
        ["bash", "-c", f'{limit} && exec "$0" -m ragen_bench {arguments}', sys.executable],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("groups", [True, False])
def test_three_thousand_threads_are_refused(agent, monkeypatch, groups):
    if not groups:
        without_groups(monkeypatch)
    agent(THREADED)
    model = make_subprocess_model(kind="sandbox", memory=8)
    try:
        started = int(first_answer(model).split()[0])
    except UserError as error:  # of root without a group
        assert f"answer was ended: it had more than {THREADS} threads (" in str(error)  # noqa: PT017
    else:
        assert THREADS - 10 <= started <= THREADS


def test_the_number_of_files_in_tmp_is_limited(agent, monkeypatch):
    without_groups(monkeypatch)
    agent(FILES)
    with pytest.raises(UserError, match="was ended: it had more than 10,000 files in /tmp"):
        first_answer(make_subprocess_model(kind="sandbox"))


def test_control_groups_hold_a_sandbox_and_are_removed(agent):
    agent("def answer(messages):\n    return ''\n")
    model = make_subprocess_model(kind="sandbox", memory=3)
    groups = list(model._process._groups.groups)
    if not groups:
        pytest.skip("this user may not make control groups")
    values = {
        file.name: file.read_text().strip()
        for group in groups
        for file in (*group.glob("pids.max"), *group.glob("memory.max"), *group.glob("memory.l*"))
    }
    assert values["pids.max"] == str(THREADS + 4)
    assert str((3 << 30) + (128 << 20)) in values.values()
    # Bubblewrap, its child, and the agent.
    assert [len((group / "cgroup.procs").read_text().split()) for group in groups] == [
        3 for _ in groups
    ]
    model._end()
    assert not any(group.exists() for group in groups)


def test_no_group_is_made_where_none_can_be_joined(monkeypatch, tmp_path):
    (tmp_path / "cgroup.procs").touch()
    monkeypatch.setattr(limits, "_own_groups", lambda: iter([tmp_path, tmp_path / "nowhere"]))
    groups = ControlGroups(2)
    assert groups.groups == []
    assert groups.join_command(["bwrap"]) == ["bwrap"]
    assert [file.name for file in tmp_path.iterdir()] == ["cgroup.procs"]


@pytest.mark.parametrize(("release", "threads"), [("5.13.9", 0), ("5.14.0-x", THREADS), ("x", 0)])
def test_threads_are_counted_by_a_kernel_that_counts_those_of_a_namespace(
    monkeypatch, release, threads
):
    monkeypatch.setattr("platform.release", lambda: release)
    assert limits.worker_limits(4) == {"memory": 4, "threads": threads}
