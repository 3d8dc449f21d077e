"""Advantages against verl's own functions, and against slow loops from the formulas."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from verl.trainer.ppo import core_algos

from ragen_starpo.algorithms.advantages import (
    bi_level_gae,
    find_turn_ends,
    place_on_last_token,
    reinforce_plus_plus,
    token_gae,
)
from ragen_starpo.algorithms.group_advantages import (
    dr_grpo,
    grpo,
    reinforce_plus_plus_baseline,
    rloo,
)
from ragen_starpo.algorithms.masked import masked_whiten
from tests.ragen_starpo.algorithms.batches import batches, masked_groups, scored_groups

pytestmark = pytest.mark.slow

shares = st.floats(0, 1)


def close(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-6, check_dtype=False)


def names(groups):
    return np.array([f"g{group}" for group in groups.tolist()], dtype=object)


@given(batches(), shares, shares)
def test_token_gae_is_verls(batch, gamma, lam):
    mask, _, rewards, values = batch
    if mask.sum() < 2:
        return
    advantages, returns = token_gae(rewards, values, mask, gamma, lam)
    theirs, their_returns = core_algos.compute_gae_advantage_return(
        rewards, values, mask, gamma, lam
    )
    close(advantages * mask, theirs * mask)
    close(returns * mask, their_returns * mask)
    assert not advantages[mask == 0].any()


def gae_of(rewards, values, gamma, lam):
    """Equation 16 as a double sum, for one sequence."""
    deltas = [
        reward + gamma * (values[i + 1] if i + 1 < len(values) else 0.0) - values[i]
        for i, reward in enumerate(rewards)
    ]
    return [
        sum((gamma * lam) ** (later - i) * deltas[later] for later in range(i, len(deltas)))
        for i in range(len(deltas))
    ]


@given(batches(), shares, shares, shares)
def test_bi_level_gae_is_two_levels_of_episodes(batch, gamma_turn, gamma, lam):
    mask, turns, rewards, values = batch
    rewards = rewards * find_turn_ends(turns, mask)
    wanted = torch.zeros_like(values)
    for row in range(len(mask)):
        tokens = {}
        for token in range(mask.shape[1]):
            if mask[row, token]:
                tokens.setdefault(int(turns[row, token]), []).append(token)
        ends = [of_turn[-1] for of_turn in tokens.values()]
        of_turns = gae_of(
            [float(rewards[row, end]) for end in ends],
            [float(values[row, end]) for end in ends],
            gamma_turn,
            lam,
        )
        for of_turn, end, advantage in zip(tokens.values(), ends, of_turns, strict=True):
            inner = [0.0] * (len(of_turn) - 1) + [advantage + float(values[row, end])]
            found = gae_of(inner, [float(values[row, token]) for token in of_turn], gamma, lam)
            for token, value in zip(of_turn, found, strict=True):
                wanted[row, token] = value
    advantages, returns = bi_level_gae(
        rewards,
        values,
        mask,
        find_turn_ends(turns, mask),
        gamma_turn=gamma_turn,
        gamma=gamma,
        lam=lam,
    )
    close(returns * mask, (wanted + values) * mask)
    close(advantages, masked_whiten(wanted, mask))


def test_bi_level_gae_of_a_last_turn_without_reward():
    """Upstream reads the ends of turns off the rewards, and has none here."""
    mask = torch.tensor([[1, 1, 0, 1, 1]])
    ends = torch.tensor([[0, 1, 0, 0, 1]])
    rewards = torch.tensor([[0.0, 1.0, 0.0, 0.0, 0.0]])
    _, returns = bi_level_gae(rewards, torch.zeros(1, 5), mask, ends, gamma_turn=0.5)
    assert returns.tolist() == [[1.0, 1.0, 0.0, 0.0, 0.0]]


def test_bi_level_gae_discounts_by_turns_and_not_by_tokens():
    mask = torch.tensor([[1, 1, 1, 0, 1, 1, 1, 1]])
    ends = torch.tensor([[0, 0, 1, 0, 0, 0, 0, 1]])
    rewards = torch.tensor([[0.0, 0, 0.25, 0, 0, 0, 0, 1.0]])
    _, returns = bi_level_gae(rewards, torch.zeros(1, 8), mask, ends, gamma_turn=0.5)
    assert returns.tolist() == [[0.75, 0.75, 0.75, 0.0, 1.0, 1.0, 1.0, 1.0]]


def test_one_turn_without_turn_discount_is_token_gae():
    mask = torch.tensor([[0, 1, 1, 1, 0]])
    ends = torch.tensor([[0, 0, 0, 1, 0]])
    rewards = torch.tensor([[0.0, 0, 0, 2.0, 0]], dtype=torch.float64)
    values = torch.tensor([[9.0, 0.5, -1, 0.25, 7]], dtype=torch.float64)
    found = bi_level_gae(rewards, values, mask, ends, gamma_turn=0.3, gamma=0.9, lam=0.8)
    close(found[0], token_gae(rewards, values, mask, 0.9, 0.8)[0])


@pytest.mark.parametrize("normalize_std", [True, False])
@given(masked_groups())
def test_grpo_and_dr_grpo_equal_verls(normalize_std, scored):
    scores, groups, mask = scored
    rewards = place_on_last_token(scores, mask)
    theirs, _ = core_algos.compute_grpo_outcome_advantage(
        rewards, mask, names(groups), norm_adv_by_std_in_grpo=normalize_std
    )
    close((grpo if normalize_std else dr_grpo)(scores, groups, mask), theirs)


@given(masked_groups())
def test_reinforce_plus_plus_baseline_equals_verls(scored):
    scores, groups, mask = scored
    if mask.sum() < 2:
        return
    rewards = place_on_last_token(scores, mask)
    theirs, _ = core_algos.compute_reinforce_plus_plus_baseline_outcome_advantage(
        rewards, mask, names(groups)
    )
    close(reinforce_plus_plus_baseline(scores, groups, mask), theirs)


def test_scores_that_differ_by_rounding_are_a_tie():
    """verl divides the rounding by a deviation that is as small."""
    scores = torch.tensor([-0.1, float(np.float32(-0.1))], dtype=torch.float64)
    assert scores[0] != scores[1]
    assert not grpo(scores, torch.tensor([0, 0]), torch.ones(2, 3)).any()


@given(masked_groups())
def test_rloo_is_verls(scored):
    scores, groups, mask = scored
    rewards = place_on_last_token(scores, mask)
    theirs, _ = core_algos.compute_rloo_outcome_advantage(rewards, mask, names(groups))
    close(rloo(scores, groups, mask), theirs)


@given(scored_groups())
def test_rloo_is_the_score_less_the_others_mean(scored):
    scores, groups = scored
    found = rloo(scores, groups, torch.ones(len(scores), 1))[:, 0]
    for row, score in enumerate(scores.tolist()):
        others = [
            other
            for index, (other, group) in enumerate(zip(scores.tolist(), groups, strict=True))
            if index != row and group == groups[row]
        ]
        wanted = score - sum(others) / len(others) if others else score
        assert float(found[row]) == pytest.approx(wanted, abs=1e-9)


@given(batches(), shares)
def test_reinforce_plus_plus_is_verls(batch, gamma):
    mask, _, rewards, _ = batch
    if mask.sum() < 2:
        return
    config = type("Config", (), {"gamma": gamma})()
    theirs, their_returns = core_algos.compute_reinforce_plus_plus_outcome_advantage(
        rewards, mask, config=config
    )
    advantages, returns = reinforce_plus_plus(rewards, mask, gamma)
    close(advantages, theirs)
    close(returns, their_returns)


@given(batches(), shares)
def test_reinforce_plus_plus_passes_observations_over(batch, gamma):
    mask, _, rewards, _ = batch
    _, returns = reinforce_plus_plus(rewards, mask, gamma)
    for row in range(len(mask)):
        of_row = rewards[row][mask[row] == 1].tolist()
        wanted = [
            sum(gamma ** (later - i) * of_row[later] for later in range(i, len(of_row)))
            for i in range(len(of_row))
        ]
        assert returns[row][mask[row] == 1].tolist() == pytest.approx(wanted, abs=1e-9)


@given(scored_groups())
def test_no_group_gains_by_grpo(scored):
    scores, groups = scored
    found = grpo(scores, groups, torch.ones(len(scores), 1))[:, 0]
    for group in groups.unique():
        of_group = found[groups == group]
        if len(of_group) > 1:
            assert float(of_group.sum()) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize("estimator", [grpo, dr_grpo, rloo])
def test_equal_returns_have_no_advantages(kind, estimator):
    """In groups of every size, whatever the mean is rounded to."""
    returns = torch.tensor([tenths / 10 for tenths in range(-200, 201)], dtype=kind)
    for size in range(2, 33):
        scores = returns.repeat_interleave(size)
        groups = torch.arange(len(returns)).repeat_interleave(size)
        assert not estimator(scores, groups, torch.ones(len(scores), 1)).any()


def test_a_group_of_one_keeps_its_return():
    scores, groups = torch.tensor([10.8, 1.0, 3.0]), torch.tensor([0, 1, 1])
    for estimator in (grpo, rloo):
        assert float(estimator(scores, groups, torch.ones(3, 1))[0]) == pytest.approx(10.8)


def test_whitening_does_not_wait_for_a_device():
    values = torch.ones(2, 3, device="meta")
    assert masked_whiten(values, values).shape == (2, 3)


def test_whitening_equal_returns_leaves_next_to_nothing():
    mask = torch.ones(64, 200)
    rewards = torch.zeros(64, 200)
    rewards[:, -1] = 10.8
    assert float(reinforce_plus_plus(rewards, mask)[0].abs().max()) < 1e-6


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_whitening_keeps_the_kind_of_number(kind):
    assert masked_whiten(torch.tensor([[1.0, 2.0]], dtype=kind), torch.ones(1, 2)).dtype is kind
