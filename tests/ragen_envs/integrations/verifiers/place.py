"""verifiers lies in a virtual environment of its own, which `make test` fills."""

import json
import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]
PYTHON = ROOT / ".venv-verifiers" / "bin" / "python"
NEEDS_VERIFIERS = pytest.mark.skipif(
    sys.platform != "linux", reason="its environment is made on Linux"
)


def environment():
    """Return the variables that a process of that environment gets."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}


def run(command, *arguments, cwd):
    """Return a finished command of verifiers."""
    return subprocess.run(
        [PYTHON.with_name(command), *map(str, arguments)],
        cwd=cwd,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


class Driver:
    """A process of that environment, which answers lines of JSON, see `driver.py`."""

    def __init__(self):
        self._process = subprocess.Popen(
            [PYTHON, Path(__file__).with_name("driver.py")],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def ask(self, **question):
        """Return the answer to a question."""
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@lru_cache(maxsize=1)
def driver():
    """Return the one driver of this process; it ends when its input does."""
    return Driver()
