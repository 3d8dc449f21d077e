"""Further prompts in place of groups whose returns do not differ."""

from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.rollout.episodes import Refills, rollout_specs
from ragen_starpo.warm_start import FIRST_INDEX
from tests.ragen_starpo.rollout.test_selection import group


def refills(instances=3, rounds=2, iteration=0, seed=0, samples=2, *, by_monitor=False):
    rollouts = {"instances": instances, "samples": samples, "refills": 0 if by_monitor else rounds}
    monitor = {"action": "adapt", "refills": rounds} if by_monitor else {}
    settings = {"model": "m", "envs": ["Bandit-v0"], "rollouts": rollouts, "seed": seed}
    recipe = recipe_of({**settings, "monitor": monitor}, "a test")
    return Refills(recipe, iteration, rounds)


def flat(number, env="Bandit-v0"):
    return group(number, env, 0.5, 0.5)


def test_groups_are_replaced_until_their_returns_differ():
    rounds = refills()
    replaced = rounds.replaced  # one set, which the cluster's sampler holds
    played = [*flat(0), *group(1, "Bandit-v0", 0.0, 1.0), *flat(2, "Sokoban-v0")]
    first = rounds.begin_round(played)
    assert [(spec.group, spec.task.env, spec.task.sample) for spec in first] == [
        *((3, "ragen/Bandit-v0", 0), (3, "ragen/Bandit-v0", 1)),
        *((4, "ragen/Sokoban-v0", 0), (4, "ragen/Sokoban-v0", 1)),
    ]
    assert replaced == {0, 2}
    played += [*group(3, "Bandit-v0", 1.0, 0.0), *flat(4, "Sokoban-v0")]
    second = rounds.begin_round(played)
    assert [spec.group for spec in second] == [5, 5]
    assert len({spec.task.index for spec in (*first, *second)}) == 3
    assert rounds.replaced == {0, 2, 4}
    # The last round is over: what is flat stays.
    assert rounds.begin_round([*played, *flat(5, "Sokoban-v0")]) == []
    assert rounds.replaced == {0, 2, 4}


def test_without_a_flat_group_or_a_round_nothing_is_played():
    assert refills().begin_round(group(0, "Bandit-v0", 0.0, 1.0)) == []
    assert refills(rounds=0).begin_round(flat(0)) == []


@given(
    *(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**30 - 1), st.integers(0, 500)),
    st.booleans(),
)
def test_no_further_instance_comes_again(instances, rounds, seed, iteration, by_monitor):
    """In the iteration, the next one, among its ordinary instances or in another seed."""
    indices = []
    for number in (iteration, iteration + 1):
        here = refills(instances, rounds, number, seed, 2, by_monitor=by_monitor)
        played, first = [one for n in range(instances) for one in flat(n)], []
        while more := here.begin_round(played):
            first += more
            played += [one for n in dict.fromkeys(spec.group for spec in more) for one in flat(n)]
        found = {spec.task.index for spec in first}
        assert len(found) == len(first) / 2 == instances * rounds
        assert {spec.seed for spec in first} == {seed}
        indices += found
    settings = recipe_of({"model": "m", "envs": ["Bandit-v0"]}, "a test")
    ordinary = rollout_specs(settings.env_cycle, settings.rollouts, seed, iteration)
    assert len({*indices, *(spec.task.index for spec in ordinary)}) == len(indices) + 8
    assert seed << 32 <= min(indices) <= max(indices) < (seed + 1) << 32 <= FIRST_INDEX
