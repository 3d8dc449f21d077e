"""NeMo Gym's resources server in its own virtual environment, by its base class's interface."""

from dataclasses import asdict

import pytest

from tests.ragen_envs.integrations.bridging.scripts import Step
from tests.ragen_envs.integrations.nemo_gym.place import PYTHON, driver


def play(task, answers):
    if not PYTHON.exists():
        pytest.skip("its environment has Python 3.13")
    first, replies = driver().ask(line=asdict(task), answers=answers)
    return first, [Step(*step, info.get("success")) for *step, info in replies]
