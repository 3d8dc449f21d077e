"""verifiers lies in a virtual environment of its own, which `make test` fills."""

import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import pytest

from tests.ragen_envs.integrations.driver import ROOT, Driver, environment

PYTHON = ROOT / ".venv-verifiers" / "bin" / "python"
NEEDS_VERIFIERS = pytest.mark.skipif(
    sys.platform != "linux", reason="its environment is made on Linux"
)


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


@lru_cache(maxsize=1)
def driver():
    """Return the one driver of this process; it ends when its input does."""
    return Driver(PYTHON, Path(__file__).with_name("driver.py"))
