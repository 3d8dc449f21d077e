"""Which instances of which environments the iterations play."""

import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.errors import UserError
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.recipes.sections import RolloutSettings
from ragen_starpo.rollout.episodes import rollout_specs
from ragen_starpo.warm_start import FIRST_INDEX

ENVS = ("Bandit-v0", "FrozenLake-v0", "Sokoban-v0")


def specs(envs, instances, iteration, seed=0):
    return rollout_specs(envs, RolloutSettings(instances=instances, samples=2), seed, iteration)


def recipe(envs, instances, seed=0, **changed):
    rollouts = {"instances": instances, "samples": 2}
    settings = {"model": "m", "envs": envs, "rollouts": rollouts, "seed": seed}
    return recipe_of({**settings, **changed}, "a test")


@given(st.integers(1, 3), st.integers(0, 9), st.integers(0, 40))
def test_environments_have_as_many_instances_as_can_be(envs, more, iterations):
    """Of each iteration, and of all of them together."""
    names = ENVS[:envs]
    total = Counter()
    for number in range(iterations):
        played = specs(names, envs + more, number)
        once = Counter(spec.task.env for spec in played if spec.task.sample == 0)
        assert len(once) == envs
        assert max(once.values()) - min(once.values()) <= 1
        total.update(once)
    if iterations:
        assert max(total.values()) - min(total.values()) <= 1


@given(st.integers(1, 7), st.integers(0, 2**30 - 1), st.integers(0, 1000))
def test_no_instance_comes_again_nor_in_another_seed(instances, seed, number):
    here = {spec.task.index for spec in specs(ENVS[:1], instances, number, seed)}
    next_ones = {spec.task.index for spec in specs(ENVS[:1], instances, number + 1, seed)}
    assert len(here) == len(next_ones) == instances
    assert not here & next_ones
    assert max(next_ones) < (seed + 1) << 32 <= FIRST_INDEX


@given(st.lists(st.integers(1, 9), min_size=3, max_size=3), st.integers(3, 9), st.data())
def test_shares_hold_over_iterations(shares, instances, data):
    """Any number of iterations plays of each environment its share, rounded down or up."""
    mixed = {"shares": dict(zip(ENVS, shares, strict=True))}
    in_turn = recipe(ENVS, instances, mixture=mixed).env_cycle
    iterations = data.draw(st.integers(1, 12))
    total = Counter(
        spec.task.env.removeprefix("ragen/")
        for number in range(iterations)
        for spec in specs(in_turn, instances, number)
        if spec.task.sample == 0
    )
    for env, share in mixed["shares"].items():
        exact = Fraction(share * iterations * instances, sum(shares))
        assert math.floor(exact) <= total[env] <= math.ceil(exact)


def test_rollouts_of_an_instance_are_one_group():
    played = specs(ENVS, 4, 5)
    assert [spec.group for spec in played] == [0, 0, 1, 1, 2, 2, 3, 3]
    for first, second in zip(played[::2], played[1::2], strict=True):
        assert (first.task.env, first.task.index) == (second.task.env, second.task.index)
        assert first.task != second.task


@pytest.mark.parametrize("seed", [-1, 2**30])
def test_seeds_whose_instances_belong_to_others(seed):
    with pytest.raises(UserError, match=r"seed: is at least 0 and below 2\*\*30, got "):
        recipe(ENVS, 4, seed)


def test_an_environment_that_would_not_be_played():
    said = r"rollouts\.instances: 2 is fewer than the 3 environments; raise it to 3"
    with pytest.raises(UserError, match=said):
        recipe(ENVS, 2)
