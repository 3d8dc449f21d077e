"""What a driver asks for, by the recipe's settings, against verl's own estimators and losses."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from verl.trainer.ppo import core_algos
from verl.workers.config import ActorConfig

from ragen_starpo.algorithms.advantages import bi_level_gae, find_turn_ends, hybrid
from ragen_starpo.algorithms.aggregation import token_weights
from ragen_starpo.algorithms.group_advantages import gigpo, turn_grpo
from ragen_starpo.algorithms.registry import AGGREGATIONS, KL_ESTIMATORS
from ragen_starpo.objective import (
    compute_advantages,
    policy_contribution,
    value_contribution,
)
from ragen_starpo.recipes.sections import AdvantageSettings, LossSettings
from ragen_starpo.rollout.trajectory import Sampled, TokenTrajectory, Turn, batch_of

GAMMA, LAM, GAMMA_TURN = 0.9, 0.7, 0.4
REFERENCE = torch.tensor([0.2, 0.2, 0.6], dtype=torch.float64).log()


def played():
    """Two groups of two and three rollouts, of one to three turns of one to three tokens."""
    layouts = [
        (0, [(2, 1.0), (1, -0.5)]),
        (0, [(3, 0.25)]),
        (1, [(1, 0.5), (2, 0.0), (2, 2.0)]),
        (1, [(2, -1.0)]),
        (1, [(2, 0.1), (3, 0.2)]),
    ]
    return [
        TokenTrajectory(
            group,
            tuple(
                Turn(
                    *((7,) * (1 + number), Sampled((8,) * count, (-1.0,) * count, True), reward),
                    state=("a square", count),
                )
                for number, (count, reward) in enumerate(turns)
            ),
            {},
        )
        for group, turns in layouts
    ]


BATCH = batch_of(played(), 0)
MASK = BATCH.mask
VALUES = torch.randn(MASK.shape, generator=torch.Generator().manual_seed(1)) * MASK


def rewards(credit):
    """Return each turn's reward on its last token, or their sum on the last one of all."""
    found = torch.zeros(MASK.shape)
    for row, trajectory in enumerate(played()):
        end, total = 0, 0.0
        for turn in trajectory.turns:
            end, total = end + len(turn.observed) + len(turn.sampled.ids), total + turn.reward
            found[row, end - 1] = turn.reward if credit == "turn" else 0.0
        found[row, end - 1] = turn.reward if credit == "turn" else total
    return found


def names():
    return np.array([str(group) for group in BATCH.groups.tolist()], dtype=object)


def by_grpo(divided):
    return core_algos.compute_grpo_outcome_advantage(
        rewards("trajectory"), MASK, names(), norm_adv_by_std_in_grpo=divided
    )


def by_rloo(_):
    return core_algos.compute_rloo_outcome_advantage(rewards("trajectory"), MASK, names())


def by_baseline(_):
    return core_algos.compute_reinforce_plus_plus_baseline_outcome_advantage(
        rewards("trajectory"), MASK, names()
    )


def by_gae(credit):
    return core_algos.compute_gae_advantage_return(rewards(credit), VALUES, MASK, GAMMA, LAM)


def by_reinforce_plus_plus(credit):
    """Over the sampled tokens alone: over observations verl's returns lose what comes after."""
    returns = torch.zeros(MASK.shape)
    for row, sampled in enumerate(MASK.bool()):
        following = 0.0
        for token in reversed(sampled.nonzero().flatten().tolist()):
            following = float(rewards(credit)[row, token]) + GAMMA * following
            returns[row, token] = following
    return core_algos.verl_F.masked_whiten(returns, MASK) * MASK, None


def by_bi_level_gae(credit):
    """Verl has none; its levels are tested by slow loops in `test_advantages`."""
    ends = find_turn_ends(BATCH.turns, MASK)
    return bi_level_gae(
        rewards(credit), VALUES, MASK, ends, gamma_turn=GAMMA_TURN, gamma=GAMMA, lam=LAM
    )


TURN_REWARDS = torch.tensor(
    [[1.0, -0.5, 0], [0.25, 0, 0], [0.5, 0, 2.0], [-1.0, 0, 0], [0.1, 0.2, 0]]
)
STATES = torch.tensor([[0, 1, -1], [2, -1, -1], [3, 4, 4], [4, -1, -1], [4, 5, -1]])


def by_hybrid(credit):
    """Verl has none of these; `test_turn_advantages` has slow loops."""
    scores = TURN_REWARDS.double().sum(1)
    return hybrid(rewards(credit), VALUES, MASK, scores, BATCH.groups, gamma=GAMMA, lam=LAM)


def by_turns(estimator):
    turns = {"turns": BATCH.turns, "turn_rewards": TURN_REWARDS}
    if estimator is gigpo:
        turns |= {"states": STATES, "gamma_turn": GAMMA_TURN}
    return estimator(TURN_REWARDS.double().sum(1), BATCH.groups, MASK, **turns), None


ESTIMATORS = [
    ("grpo", "trajectory", by_grpo, True, False),
    ("dr-grpo", "trajectory", by_grpo, False, False),
    ("rloo", "trajectory", by_rloo, None, False),
    ("gae", "trajectory", by_gae, "trajectory", True),
    ("gae", "turn", by_gae, "turn", True),
    ("reinforce-plus-plus-baseline", "trajectory", by_baseline, None, False),
    ("reinforce-plus-plus", "trajectory", by_reinforce_plus_plus, "trajectory", False),
    ("reinforce-plus-plus", "turn", by_reinforce_plus_plus, "turn", False),
    ("bi-level-gae", "turn", by_bi_level_gae, "turn", True),
    ("hybrid", "trajectory", by_hybrid, "trajectory", True),
    ("hybrid", "turn", by_hybrid, "turn", True),
    ("gigpo", "turn", by_turns, gigpo, False),
    ("turn-grpo", "turn", by_turns, turn_grpo, False),
]


def settings_of(name, credit):
    return AdvantageSettings(name, credit, gamma=GAMMA, lam=LAM, gamma_turn=GAMMA_TURN)


@pytest.mark.parametrize(("name", "credit", "theirs", "option", "critic"), ESTIMATORS)
def test_each_estimator_is_verls(name, credit, theirs, option, critic):
    advantages, returns = compute_advantages(settings_of(name, credit), BATCH, VALUES)
    wanted, their_returns = theirs(option)
    torch.testing.assert_close(advantages, wanted * MASK, rtol=1e-4, atol=1e-5, check_dtype=False)
    assert advantages.dtype == BATCH.log_probs.dtype
    assert (returns is not None) == critic
    if critic:
        torch.testing.assert_close(returns * MASK, their_returns * MASK, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
@pytest.mark.parametrize(("name", "credit", "theirs", "option", "critic"), ESTIMATORS)
def test_results_are_of_the_kind_of_log_probabilities(name, credit, theirs, option, critic, kind):
    batch = replace(BATCH, log_probs=BATCH.log_probs.to(kind))
    for values in (VALUES, VALUES.double()):
        for found in compute_advantages(settings_of(name, credit), batch, values):
            assert found is None or found.dtype == kind


def split(batch):
    """Return the batch of the same turns, each a sequence of its own."""
    return batch_of([replace(one, split=True) for one in batch], 0)


@pytest.mark.parametrize(("name", "credit"), [(name, credit) for name, credit, *_ in ESTIMATORS])
def test_split_turns_have_the_advantages_of_their_trajectory(name, credit):
    """Of the whole one: sampled tokens stand in the same order in both batches."""
    batch = split(played())
    assert len(batch) > len(BATCH)
    here, there = batch.mask.bool(), MASK.bool()
    values = torch.zeros(here.shape).masked_scatter(here, VALUES[there])
    results = compute_advantages(settings_of(name, credit), batch, values)
    for found, whole in zip(
        results, compute_advantages(settings_of(name, credit), BATCH, VALUES), strict=True
    ):
        assert (found is None) == (whole is None)
        if found is not None:
            assert found.dtype == whole.dtype
            torch.testing.assert_close(found[here], whole[there])
            assert not found[~here].any()


@pytest.mark.parametrize("how", AGGREGATIONS)
def test_the_loss_of_sequences_adds_up_to_that_of_turns_one_by_one(how):
    batch, settings = split(played()), LossSettings(aggregation=how, entropy=0.3, dual_clip=None)
    noise = torch.Generator().manual_seed(4)
    old, new, advantages, entropies = torch.randn(
        (4, *batch.mask.shape), generator=noise, dtype=torch.float64
    )
    columns = {
        "mask": batch.mask,
        "weights": token_weights(batch.mask, how, 11, batch.trajectories),
        "advantages": advantages,
        "old_log_probs": old,
    }
    loss = 0.0
    for row in range(len(batch)):
        own = {name: column[row : row + 1] for name, column in columns.items()}
        one = slice(row, row + 1)
        loss += float(policy_contribution(settings, new[one], entropies[one], own)[0])
    means, sums, row = [], [], 0
    for trajectory in played():
        terms = []
        for turn in trajectory.turns:
            for token in range(len(turn.observed), len(turn.observed) + len(turn.sampled.ids)):
                ratio = math.exp(new[row, token] - old[row, token])
                held = min(max(ratio, 1 - settings.clip_low), 1 + settings.clip_high)
                gain = float(advantages[row, token])
                terms.append(max(-gain * ratio, -gain * held) - 0.3 * float(entropies[row, token]))
            row += 1
        sums.append(sum(terms))
        means.append(sum(terms) / len(terms))
    count, tokens = len(played()), int(MASK.sum())
    wanted = {
        "token-mean": sum(sums) / tokens,
        "seq-mean-token-sum": sum(sums) / count,
        "seq-mean-token-mean": sum(means) / count,
        "seq-mean-token-sum-norm": sum(sums) / count / 11,
    }
    assert row == len(batch)
    assert loss == pytest.approx(wanted[how])


def test_no_two_estimators_or_credits_agree():
    found = [
        compute_advantages(settings_of(name, of), BATCH, VALUES)[0] for name, of, *_ in ESTIMATORS
    ]
    for number, advantages in enumerate(found):
        for other in found[:number]:
            assert (advantages - other).abs().max() > 0.01


@pytest.mark.parametrize("name", ["gae", "bi-level-gae"])
def test_a_critics_estimator_needs_values(name):
    with pytest.raises(ValueError, match=f"{name} needs the values of a critic"):
        compute_advantages(settings_of(name, "turn"), BATCH, None)


def random(seed, scale=1.0):
    noise = torch.Generator().manual_seed(seed)
    return torch.randn(MASK.shape, generator=noise, dtype=torch.float64) * scale


seeds = st.integers(0, 2**30)


@pytest.mark.parametrize("how", AGGREGATIONS)
@given(
    seeds,
    st.sampled_from([(0.1, 0.4), (0.4, 0.1)]),
    st.sampled_from([None, 1.5]),
    st.sampled_from([0.0, 0.3]),
    st.sampled_from(KL_ESTIMATORS),
    st.sampled_from([0.0, 0.2]),
)
def test_the_policys_loss_is_verls(how, seed, clips, dual, kl, estimator, entropy):
    low, high = clips
    settings = LossSettings(
        *(low, high, dual, kl, estimator, entropy, how),
        horizon=11 if how == "seq-mean-token-sum-norm" else None,
    )
    old, advantages = random(seed) - 2, random(seed + 1)
    new, reference = old + random(seed + 2, 0.4), old + random(seed + 3, 0.4)
    entropies = random(seed + 4).abs()
    columns = {
        "mask": MASK,
        "weights": token_weights(MASK, how, settings.horizon),
        "advantages": advantages,
        "old_log_probs": old,
        **({"reference": reference} if kl else {}),
    }
    loss, means = policy_contribution(settings, new, entropies, columns)
    config = ActorConfig(
        strategy="fsdp",
        rollout_n=1,
        ppo_micro_batch_size_per_gpu=1,
        clip_ratio=low,
        clip_ratio_low=low,
        clip_ratio_high=high,
        clip_ratio_c=dual or 1e9,
        loss_scale_factor=11,
    )
    theirs, metrics = core_algos.compute_policy_loss_vanilla(
        old, new, advantages, MASK, how, config
    )

    def aggregated(values):
        return core_algos.agg_loss(values, MASK, how, loss_scale_factor=11)

    divergence = core_algos.kl_penalty(new, reference, estimator)
    wanted = theirs - entropy * aggregated(entropies) + kl * aggregated(divergence)
    torch.testing.assert_close(loss, wanted, rtol=1e-5, atol=1e-6, check_dtype=False)
    token_mean = core_algos.verl_F.masked_mean
    assert float(means["clip_fraction"]) == pytest.approx(metrics["actor/pg_clipfrac"], abs=1e-6)
    dual_share = metrics["actor/pg_clipfrac_lower"]
    assert float(means["dual_clip_fraction"]) == pytest.approx(dual_share, abs=1e-6)
    assert float(means["kl_from_rollouts"]) == pytest.approx(metrics["actor/ppo_kl"], abs=1e-6)
    assert float(means["entropy"]) == pytest.approx(float(token_mean(entropies, MASK)))
    assert ("kl_from_reference" in means) == bool(kl)
    if kl:
        expected = float(token_mean(divergence, MASK))
        assert float(means["kl_from_reference"]) == pytest.approx(expected, abs=1e-6)


@given(seeds, st.sampled_from([0.1, 0.5, 2.0]))
def test_the_critics_loss_is_verls(seed, clip):
    values, old, returns = random(seed), random(seed + 1), random(seed + 2)
    columns = {
        "mask": MASK,
        "weights": token_weights(MASK, "token-mean"),
        "old_values": old,
        "returns": returns,
    }
    loss, means = value_contribution(LossSettings(value_clip=clip), values, columns)
    theirs, share = core_algos.compute_value_loss(values, returns, old, MASK, clip)
    torch.testing.assert_close(loss, theirs, rtol=1e-5, atol=1e-6, check_dtype=False)
    assert float(means["value_clip_fraction"]) == pytest.approx(float(share), abs=1e-6)
    errors = core_algos.verl_F.masked_mean((returns - values).square(), MASK)
    assert float(means["squared_error"]) == pytest.approx(float(errors))


@pytest.mark.parametrize("estimator", KL_ESTIMATORS)
def test_a_divergence_alone_leads_to_the_reference(estimator):
    """Each of the policy's tokens as often as it is sampled, without advantages."""
    logits = torch.tensor([2.0, 0.0, -1.0], dtype=torch.float64, requires_grad=True)
    settings = LossSettings(kl=0.5, kl_estimator=estimator, entropy=0.0)
    none = torch.zeros(1, 3, dtype=torch.float64)
    divergences = []
    for _ in range(300):
        log_probs = torch.log_softmax(logits, 0)
        columns = {
            "mask": torch.ones(1, 3, dtype=torch.int64),
            "weights": log_probs.detach().exp()[None],
            "advantages": none,
            "old_log_probs": log_probs.detach()[None],
            "reference": REFERENCE[None],
        }
        loss, means = policy_contribution(settings, log_probs[None], none, columns)
        divergences.append(float(means["kl_from_reference"]))
        (gradient,) = torch.autograd.grad(loss, logits)
        logits = (logits - gradient).detach().requires_grad_()
    torch.testing.assert_close(torch.log_softmax(logits, 0), REFERENCE, atol=1e-3, rtol=0)
    assert abs(divergences[-1]) < 1e-3 < abs(divergences[0])
