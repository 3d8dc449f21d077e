"""Budgets and variants of one's own that cannot be played are refused."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.budget import Budget
from ragen_envs.games.bandit_multi_pull.env import MultiPullEnv
from ragen_envs.games.frozen_lake.env import FrozenLakeEnv
from ragen_envs.games.frozen_lake.rules import Generator as Lakes
from ragen_envs.games.sokoban.env import SokobanEnv
from ragen_envs.games.sokoban.generator import Generator as Rooms

GRIDS = [(SokobanEnv, "Sokoban-v0", Rooms), (FrozenLakeEnv, "FrozenLake-v0", Lakes)]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("max_turns", 0, "max_turns is an int of at least 1, got 0"),
        ("max_actions", 2.5, "max_actions is an int of at least 1, got 2.5"),
        ("max_actions_per_turn", True, "max_actions_per_turn is an int of at least 1, got True"),
        ("penalty", 0.1, "penalty is an int of at least 0, in hundredths of reward, got 0.1"),
        ("penalty", -10, "penalty is an int of at least 0, in hundredths of reward, got -10"),
    ],
)
def test_what_is_no_budget_is_refused(field, value, message):
    with pytest.raises(ValueError, match=message):
        Budget(**{field: value})


def test_the_penalty_is_in_hundredths():
    shipped = SokobanEnv.variants["Sokoban-v0"]
    for penalty, reward in ((0, 0.0), (10, -0.1), (100, -1.0)):
        variant = dataclasses.replace(shipped, name="Mine", budget=Budget(penalty=penalty))
        env = SokobanEnv(variant, response_format="plain")
        env.reset(seed=0)
        assert env.step("nonsense")[1] == reward


@pytest.mark.parametrize(("env", "name", "generator"), GRIDS)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 12), st.integers(3, 12))
def test_a_variant_whose_instances_do_not_fit_into_its_budget_is_refused(
    env, name, generator, turns, per_turn, actions, longest
):
    budget, fits = Budget(turns, per_turn, actions), min(turns * per_turn, actions)

    def variant():
        parts = {"budget": budget, "generator": generator(max_length=longest)}
        return dataclasses.replace(env.variants[name], name="Mine", **parts)

    if longest <= fits:
        assert variant().budget is budget
    else:
        with pytest.raises(ValueError, match=rf"Mine: .* up to {longest} .* has {fits}; give"):
            variant()


def test_the_default_generator_with_four_actions_is_refused():
    shipped = SokobanEnv.variants["Sokoban-v0"]
    four = Budget(max_actions=4)
    with pytest.raises(ValueError, match=r"take up to 10 actions, and the budget has 4; give"):
        dataclasses.replace(shipped, name="Mine", budget=four)
    short = dataclasses.replace(shipped, name="Mine", budget=four, generator=Rooms(max_length=4))
    env = SokobanEnv(short)
    assert {env.reset(seed=seed)[1]["optimal_length"] for seed in range(30)} == {3, 4}


@pytest.mark.parametrize(("make", "least"), [(Rooms, 3), (Lakes, 2)])
def test_a_generator_of_too_short_ways_is_refused(make, least):
    assert make(max_length=least).max_length == least
    with pytest.raises(ValueError, match=f"max_length is at least {least}, got {least - 1}"):
        make(max_length=least - 1)


@pytest.mark.parametrize("arms", [0, 1, 6, "5"])
def test_too_few_and_too_many_arms_are_refused(arms):
    shipped = MultiPullEnv.variants["BanditMultiPull-v0"]
    with pytest.raises(ValueError, match="arms is 2 to 5, got"):
        dataclasses.replace(shipped, name="Mine", arms=arms)
    assert MultiPullEnv(dataclasses.replace(shipped, name="Mine", arms=2)).reset(seed=0)
