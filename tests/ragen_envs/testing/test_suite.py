"""One id of each game of this suite passes all checks."""

from functools import partial

import gymnasium
import pytest

from ragen_envs.core.instances import RandomStream
from ragen_envs.core.policies import oracle_answer, random_answer
from ragen_envs.testing import check_text_env
from tests.ragen_envs.support import TWENTY_QUESTIONS, held_out_size

IDS = (
    "Bandit-v0",
    "BanditMultiPull-v0",
    "Sokoban-v0",
    "FrozenLake-v0",
    "WebShop-v0",
    *TWENTY_QUESTIONS,
)
TURNS = {
    "Bandit-v0": 1,
    "BanditMultiPull-v0": 20,
    "WebShop-v0": 9,
    **dict.fromkeys(TWENTY_QUESTIONS, 20),
}


def random_player(env, rng):
    return random_answer(env.unwrapped, RandomStream("test", rng.getrandbits(64)))


def oracle(env):
    return oracle_answer(env.unwrapped)


@pytest.mark.slow
@pytest.mark.parametrize("name", IDS)
def test_all_checks_pass(name):
    id_ = f"ragen_envs:ragen/{name}"
    stochastic = not name.startswith(("Sokoban", "WebShop", "TwentyQuestions"))
    outcomes = check_text_env(
        id_,
        answers=random_player,
        splits={s: partial(gymnasium.make, id_, split=s) for s in ("train", "val", "test")},
        held_out=dict.fromkeys(("val", "test"), held_out_size(name)),
        noise_options=lambda j: {"noise_seed": j},
        stochastic=stochastic,
        oracle=oracle,
        oracle_episodes=40,
        max_turns=TURNS.get(name, 5),
        seeds=range(3),
    )
    skipped = [outcome.name for outcome in outcomes if outcome.status == "skipped"]
    assert skipped == ([] if stochastic else ["rollouts_differ_in_noise"])


def test_an_id_alone_is_enough():
    outcomes = check_text_env("ragen/Sokoban-v0", seeds=range(2))
    skipped = {outcome.name: outcome.message for outcome in outcomes if outcome.message}
    assert {name: message.split(":")[0] for name, message in skipped.items()} == {
        "episode_ends": "needs the option 'max_turns'",
        "splits_disjoint": "needs the option 'splits'",
        "held_out_unique": "needs the option 'held_out'",
        "rollouts_share_first_observation": "needs the option 'noise_options'",
        "rollouts_differ_in_noise": "needs the option 'stochastic'",
        "oracle_reaches_ceiling": "needs the option 'oracle'",
    }
