"""Every bridge plays every id as plain Gymnasium does: same texts, rewards, ends and success."""

import pkgutil
from importlib import import_module

import pytest

from ragen_envs import IDS
from tests.ragen_envs.integrations.bridging import players
from tests.ragen_envs.integrations.bridging.scripts import scripts

pytestmark = pytest.mark.slow

BRIDGES = sorted(module.name for module in pkgutil.iter_modules(players.__path__))


@pytest.mark.parametrize("bridge", BRIDGES)
@pytest.mark.parametrize("id_", IDS)
def test_every_bridge_plays_as_gymnasium_does(id_, bridge):
    player = import_module(f"{players.__name__}.{bridge}")
    plays = getattr(player, "plays", lambda task, answer: True)
    for script in scripts(id_):
        if not all(plays(script.task, answer) for answer in script.answers):
            assert script.player in ("hostile", "out_of_form")
            continue
        first, steps = player.play(script.task, script.answers)
        assert first == script.first
        assert tuple(steps) == script.steps
