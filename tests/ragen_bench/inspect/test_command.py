"""`inspect eval` finds the tasks by their names."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log

import ragen_bench
from tests.links import PROJECT, ROOT
from tests.ragen_bench.inspect import replaying
from tests.ragen_bench.inspect.support import expected, figures

pytestmark = pytest.mark.slow

INSPECT = Path(sys.executable).with_name("inspect")


def run_inspect(tmp_path, *arguments):
    """Run Inspect's command where another distribution registers the model API.

    It registers what this one's pyproject.toml does too, since a checkout's metadata may be older.
    """
    registered = tmp_path / "registered" / "replaying-1.dist-info"
    registered.mkdir(parents=True)
    (registered / "METADATA").write_text("Metadata-Version: 2.1\nName: replaying\nVersion: 1\n")
    points = {**PROJECT["entry-points"]["inspect_ai"], "replaying": replaying.__name__}
    lines = [f"{name} = {module}\n" for name, module in points.items()]
    (registered / "entry_points.txt").write_text("[inspect_ai]\n" + "".join(lines))
    paths = [str(registered.parent), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [INSPECT, "eval", *arguments, "--display", "plain"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "200"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_the_command_plays_a_suite_to_the_harness_s_figures(tmp_path):
    run = ragen_bench.evaluate(
        "oracle", suite="quick", limit=2, out=tmp_path / "run", progress=False
    )
    arguments = ["ragen_bench/quick", "-T", "limit=2", "--model", f"replay/{run.path}"]
    done = run_inspect(tmp_path, *arguments, "--log-dir", "logs")
    assert done.returncode == 0, done.stdout + done.stderr
    [file] = (tmp_path / "logs").glob("*.eval")
    log = read_eval_log(str(file))
    assert (log.status, log.eval.task_args_passed) == ("success", {"limit": 2})
    assert figures(log) == pytest.approx(expected(run.summary), abs=1e-6)
