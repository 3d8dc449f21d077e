"""NeMo Gym lies in a virtual environment of its own, which `make test` fills with Python 3.13."""

from functools import lru_cache
from pathlib import Path

import pytest

from tests.ragen_envs.integrations.driver import ROOT, Driver

PYTHON = ROOT / ".venv-nemo" / "bin" / "python"
NEEDS_NEMO_GYM = pytest.mark.skipif(not PYTHON.exists(), reason="its environment has Python 3.13")


@lru_cache(maxsize=1)
def driver():
    """Return the one driver of this process; it ends when its input does."""
    return Driver(PYTHON, Path(__file__).with_name("driver.py"))
