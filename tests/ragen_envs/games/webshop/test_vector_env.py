"""The suite's vector environment on WebShop, whose infos have entries that turns change."""

from functools import partial

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.vector import TextVectorEnv
from ragen_envs.games.sokoban.env import SokobanEnv
from ragen_envs.games.webshop.env import PARTS, WebShopEnv
from tests.ragen_envs.core.test_vector import assert_same

MODES = list(AutoresetMode)
GAMES = {
    "WebShop": [partial(WebShopEnv, "WebShop-v0", "val", "plain")] * 3,
    "mixed": [
        partial(WebShopEnv, "WebShop-v0", "val", "plain"),
        partial(SokobanEnv, "SokobanNewVocab-v0", "val", "plain"),
    ],
}


def answer(env, stream):
    if not env.legal_actions:
        return ""
    buy = "click[buy now]" in env.legal_actions and stream.below(2)
    return env.best_actions()[0] if stream.below(4) else "click[buy now]" if buy else "Up"


@pytest.mark.parametrize(
    ("games", "mode"), [("mixed", MODES[0]), *(("WebShop", mode) for mode in MODES)]
)
def test_it_does_what_the_sync_vector_env_does(games, mode):
    fns = GAMES[games]
    ours, reference = TextVectorEnv(fns, mode), SyncVectorEnv(fns, autoreset_mode=mode)
    stream = RandomStream("vector", games)
    assert_same(ours.reset(seed=3), reference.reset(seed=3))
    kept, scores = [], 0
    for _ in range(40):
        answers = [answer(env, stream) for env in ours.envs]
        got, expected = ours.step(answers), reference.step(answers)
        assert_same(got, expected)
        kept.append((got[4]["r_att"], got[4]["r_att"].copy()))
        scores += np.count_nonzero(got[1])
        over = got[2] | got[3]
        if mode is AutoresetMode.DISABLED and over.any():
            seeds = [int(i) for i in np.arange(len(over)) + stream.below(100)]
            options = {"reset_mask": over}
            assert_same(
                ours.reset(seed=seeds, options=options),
                reference.reset(seed=seeds, options=options),
            )
    assert scores > 5
    assert all((told == copy).all() for told, copy in kept)


def test_the_parts_are_there_after_a_purchase():
    env = TextVectorEnv(GAMES["WebShop"], AutoresetMode.DISABLED)
    _, infos = env.reset(seed=0)
    assert all(infos[part].tolist() == [0, 0, 0] for part in PARTS)
    while env.envs[0].legal_actions:
        first = env.envs[0].best_actions()[0]
        *_, infos = env.step([first, "", ""])
    assert [infos[part].tolist() for part in PARTS] == [[1, 0, 0]] * 5
