"""How many instances of a range of seeds stand in another range, counted without the kit."""

import gymnasium
import pytest

from tests.ragen_envs.peers.gem_text import GemText
from tests.ragen_envs.peers.players import lake_instance, sokoban_instance, solution, xsb
from tests.ragen_envs.peers.reasoning_gym_text import ReasoningGymText
from tests.ragen_envs.peers.test_docs import rows
from tests.ragen_envs.peers.textarena_text import TextArenaText
from tests.ragen_envs.peers.told import TEST_FROM

pytestmark = pytest.mark.slow

MEASURED = {
    "Gymnasium Taxi-v4": (lambda: gymnasium.make("Taxi-v4"), lambda env: env.unwrapped.s, 256),
    "TextArena FrozenLake-v0": (lambda: TextArenaText("FrozenLake-v0"), lake_instance, 256),
    "GEM game:Sokoban-v0-easy": (
        lambda: GemText("game:Sokoban-v0-easy"),
        sokoban_instance,
        256,
    ),
    "reasoning-gym bf": (
        lambda: ReasoningGymText("bf"),
        lambda env: env.entry["question"],
        256,
    ),
}
COUNTED = {name: [int(cell) for cell in cells if cell] for name, *cells in rows("environment")[1:]}


def instances(env, instance, seeds):
    for seed in seeds:
        env.reset(seed=seed)
        yield instance(env)


def test_every_environment_with_a_count_is_measured():
    assert list(COUNTED) == list(MEASURED)


@pytest.mark.parametrize("name", MEASURED)
def test_train_holds_so_many_test_instances(name):
    make, instance, size = MEASURED[name]
    env = make()
    train = list(instances(env, instance, range(size)))
    test = list(instances(env, instance, range(TEST_FROM, TEST_FROM + size)))
    counts = [sum(i in train[:n] for i in test[:n]) for n in (64, 256) if n <= size]
    assert counts == COUNTED[name]


def test_gem_has_a_level_beyond_its_turns():
    env = GemText("game:Sokoban-v0-easy")
    beyond = {}
    for seed in range(32):
        env.reset(seed=seed)
        moves = len(solution(xsb(env.game)))
        if moves > env.game.max_turns:
            beyond[seed] = moves
    assert beyond == {8: 21}
