"""Every bridge plays every id as plain Gymnasium does: same texts, rewards, ends and success."""

import pkgutil
from importlib import import_module

import pytest

from ragen_envs import IDS
from tests.ragen_envs.bridging import players
from tests.ragen_envs.bridging.scripts import scripts

BRIDGES = sorted(module.name for module in pkgutil.iter_modules(players.__path__))


@pytest.mark.parametrize("bridge", BRIDGES)
@pytest.mark.parametrize("id_", IDS)
def test_every_bridge_plays_as_gymnasium_does(id_, bridge):
    play = import_module(f"{players.__name__}.{bridge}").play
    for script in scripts(id_):
        first, steps = play(script.task, script.answers)
        assert first == script.first
        assert tuple(steps) == script.steps
