"""The states that GiGPO compares: equal in equal situations, different in others, fit to travel."""

import pickle

import pytest

from ragen_bench.analysis.failures import find_labeler
from ragen_bench.errors import UserError
from ragen_bench.suites import make_env
from ragen_envs.core.failures import FailureLabeler
from ragen_envs.core.instances import RandomStream
from ragen_envs.registration import all_games
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.rollout import episodes
from ragen_starpo.rollout.episodes import find_state_readers

IDS = [game.ids[0] for game in all_games()]
WITH_HISTORY = {f"ragen/{name}-v0" for name in ("Countdown", "Desk", "Mastermind", "WebShop")}
"""Games whose texts show earlier turns, which their states may forget."""


def walk(env, noise):
    """Return the state before each turn of a random player, with the observation."""
    player, labeler = RandomStream("player", noise), find_labeler(env)
    game = make_env(env, "train", "plain")
    observation, _ = game.reset(seed=5, options={"noise_seed": noise})
    found = []
    for _ in range(6):
        found.append((labeler.read_state(game), observation))
        if not game.legal_actions:
            break
        action = game.legal_actions[player.below(len(game.legal_actions))]
        observation, _, terminated, truncated, _ = game.step(action)
        if terminated or truncated:
            break
    return found


@pytest.mark.parametrize("env", IDS)
def test_equal_states_look_equal_and_survive_the_way_to_the_learner(env):
    walks = [walk(env, noise) for noise in range(12)]
    assert walks[0] == walk(env, 0)
    texts = {}
    for state, observation in (step for steps in walks for step in steps[1:]):
        copy = pickle.loads(pickle.dumps(state))
        assert copy == state
        assert hash(copy) == hash(state)
        # The first line reports the turn; the rest shows the state.
        texts.setdefault(copy, set()).add(observation.partition("\n")[2])
    if env not in WITH_HISTORY:
        assert all(len(seen) == 1 for seen in texts.values())
    assert len({state for steps in walks for state, _ in steps}) > 1 or env == "ragen/Bandit-v0"


def gigpo(*envs):
    settings = {"model": "m", "envs": envs, "advantage": {"estimator": "gigpo", "credit": "turn"}}
    return recipe_of(settings, "a test")


def test_every_game_defines_its_state():
    assert find_state_readers(gigpo(*IDS[:8])).keys() == set(IDS[:8])
    assert find_state_readers(gigpo(*IDS[8:])).keys() == set(IDS[8:])


def test_a_game_without_states_is_refused_and_plays_with_other_estimators(monkeypatch):
    monkeypatch.setattr(episodes, "find_labeler", lambda _: FailureLabeler())
    with pytest.raises(UserError, match="gigpo compares states, and the failure labeler of ragen/"):
        find_state_readers(gigpo("Sokoban-v0"))
    grpo = recipe_of({"model": "m", "envs": ["Sokoban-v0"]}, "a test")
    assert find_state_readers(grpo) == {}
