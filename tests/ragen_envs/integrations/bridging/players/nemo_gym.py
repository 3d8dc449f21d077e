"""NeMo Gym's resources server in its own virtual environment, by its base class's interface.

It refuses instances that a split does not have, where Gymnasium begins again with the first.
"""

from dataclasses import asdict
from functools import lru_cache

import pytest

from ragen_envs.integrations.bridging import Episode
from tests.ragen_envs.integrations.bridging.scripts import Step
from tests.ragen_envs.integrations.nemo_gym.place import PYTHON, driver


@lru_cache
def size(id_, split):
    return Episode(id_, split).instances


def play(task, answers):
    if not PYTHON.exists():
        pytest.skip("its environment has Python 3.13")
    line = {**asdict(task), "seed": task.seed % size(task.env, task.split)}
    first, replies = driver().ask(line=line, answers=answers)
    return first, [Step(*step, info.get("success")) for *step, info in replies]
