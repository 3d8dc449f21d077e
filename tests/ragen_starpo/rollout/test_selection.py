"""Which rollouts are learned from, of one environment and of several."""

import statistics

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ragen_bench.errors import UserError
from ragen_bench.runs.schema import EpisodeRecord
from ragen_starpo.recipes.sections import FilterSettings
from ragen_starpo.rollout.selection import select_rollouts, weigh_groups
from ragen_starpo.rollout.trajectory import Sampled, TokenTrajectory, Turn, batch_of


def played_in(env):
    """A recorded episode of which the environment matters, and nothing else."""
    return EpisodeRecord(
        env=f"ragen/{env}",
        split="train",
        index=0,
        sample=0,
        ceiling=1.0,
        outcome="failure",
        success=False,
        score=0.0,
        episode_return=0.0,
        turns=[],
        final_observation="",
    )


def group(number, env, *returns):
    return [
        TokenTrajectory(number, (Turn((1,), Sampled((2,), (-1.0,), True), reward),), played_in(env))
        for reward in returns
    ]


def nothing(number, env="Sokoban-v0"):
    return TokenTrajectory(number, (), played_in(env))


def kept(how, played):
    return [
        one.group for one, keep in zip(played, select_rollouts(how, played), strict=True) if keep
    ]


def test_each_environment_keeps_its_share_whatever_its_returns_are_like():
    played = [
        *group(0, "Sokoban-v0", 10.8, -1.0),
        *group(1, "FrozenLake-v0", 0.0, 1.0),
        *group(2, "Sokoban-v0", 0.0, -1.0),
        *group(3, "FrozenLake-v0", 0.0, 0.1),
    ]
    assert kept(FilterSettings("top-k", 0.5), played) == [0, 0, 1, 1]
    assert kept(FilterSettings("top-p", 0.9), played) == [0, 0, 1, 1]
    assert kept(FilterSettings("min-p", 0.5), played) == [0, 0, 1, 1]
    assert kept(FilterSettings("all"), played) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_groups_are_kept_as_a_whole_but_for_rollouts_that_sampled_nothing():
    played = [*group(5, "Sokoban-v0", 1.0, 2.0), nothing(5), *group(6, "Sokoban-v0", 1.0, 1.0)]
    assert select_rollouts(FilterSettings("top-k", 1.0), played) == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_equal_returns_are_left_out_in_the_numbers_that_drivers_use():
    for tenths in range(-20, 120):
        for size in (2, 8, 16, 32):
            played = group(0, "Sokoban-v0", *[tenths / 10] * size)
            assert not any(select_rollouts(FilterSettings("top-k", 1.0, 0.0), played))


def test_prompts_that_do_not_fit_are_reported():
    with pytest.raises(UserError, match=r"no prompt leaves room for a response.*rollouts\.context"):
        select_rollouts(FilterSettings("all"), [nothing(0), nothing(1)])


def test_trajectories_of_no_turn_are_tensors_too():
    batch = batch_of([nothing(0), nothing(1)], 0)
    assert batch.scores.tolist() == [0.0, 0.0]
    assert isinstance(nothing(0).score, float)
    assert batch.ids.shape == batch.mask.shape == (2, 0)
    whole = batch_of(group(0, "Sokoban-v0", 1, 2), 0)
    for one, other in zip(vars(batch).values(), vars(whole).values(), strict=True):
        assert one.dtype == other.dtype
    assert whole.turn_rewards.dtype == torch.float32


@pytest.mark.parametrize(
    ("score", "first"), [("reward", 1), ("length", 0), ("entropy", 2), ("deviation", 1)]
)
def test_scores_of_groups(score, first):
    """Of mean returns 0.5, 3, 1, lengths 3, 1, 2 and entropies 1, 2, 3."""
    played = [
        TokenTrajectory(
            number, (Turn((1,), Sampled((2,) * length, (-entropy,) * length, True), reward),), of
        )
        for of in [played_in("Sokoban-v0")]
        for number, (returns, length, entropy) in enumerate(
            [((0.0, 1.0), 3, 1.0), ((0.0, 6.0), 1, 2.0), ((0.0, 2.0), 2, 3.0)]
        )
        for reward in returns
    ]
    assert kept(FilterSettings("top-k", groups=1, score=score), played) == [first, first]


def test_replaced_groups_are_not_kept_and_leave_their_place():
    """Of three groups a third is one; of the two that are left it is one too."""
    played = [
        *group(0, "Sokoban-v0", 0.0, 9.0),
        *group(1, "Sokoban-v0", 0.0, 1.0),
        *group(2, "Sokoban-v0", 0.0, 2.0),
    ]
    settings = FilterSettings("top-k", 1 / 3)
    assert select_rollouts(settings, played, {0}) == [False] * 4 + [True] * 2
    assert select_rollouts(FilterSettings("all"), played, {0, 1, 2}) == [False] * 6


returns = st.lists(st.sampled_from([-0.1, 0.0, 1.0, 10.8]), min_size=2, max_size=4)
games = st.sampled_from(["Sokoban-v0", "FrozenLake-v0"])


@given(st.lists(st.tuples(games, returns), min_size=1, max_size=6), st.sampled_from([1, 2]))
def test_weights_are_relative_deviations_in_an_environment(groups, power):
    played = [one for number, (env, of) in enumerate(groups) for one in group(number, env, *of)]
    settings = FilterSettings("all", reweight=("deviation", "variance")[power - 1])
    weighted, metrics = weigh_groups(settings, played)
    spreads = [statistics.stdev(of) ** power for _, of in groups]
    wanted = []
    for (env, _), spread in zip(groups, spreads, strict=True):
        of_env = [other for (name, _), other in zip(groups, spreads, strict=True) if name == env]
        wanted.append(spread / statistics.fmean(of_env) if any(of_env) else 1.0)
    found = {one.group: one.weight for one in weighted}
    assert list(found.values()) == pytest.approx(wanted, abs=1e-9)
    effective = sum(wanted) ** 2 / sum(weight**2 for weight in wanted) / len(wanted)
    assert metrics == {"filter/effective": pytest.approx(effective)}
    assert [one.turns for one in weighted] == [one.turns for one in played]
    assert weigh_groups(FilterSettings("all"), played) == (played, {})


@given(st.lists(st.lists(st.floats(0, 9), min_size=2, max_size=4), min_size=2, max_size=5))
def test_entropy_variance_is_that_of_the_rollouts_of_a_group(entropies):
    """Of the mean negative log-probability of each rollout's tokens."""
    env = played_in("Sokoban-v0")
    played = [
        TokenTrajectory(
            number, (Turn((1,), Sampled((2, 2), (-entropy, -entropy), True), float(place)),), env
        )
        for number, of in enumerate(entropies)
        for place, entropy in enumerate(of)
    ]
    settings = FilterSettings("top-k", groups=1, score="entropy_variance")
    variances = [statistics.variance(of) for of in entropies]
    (best,) = set(kept(settings, played))
    assert variances[best] == pytest.approx(max(variances), rel=1e-6, abs=1e-6)
