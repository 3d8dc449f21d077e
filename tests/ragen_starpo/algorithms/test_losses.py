"""Losses against verl's own, and against the formulas."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from verl.trainer.ppo import core_algos
from verl.workers.config import ActorConfig

from ragen_starpo.algorithms.losses import compute_log_ratio, kl_penalty, ppo_loss, value_loss
from ragen_starpo.algorithms.masked import masked_mean
from ragen_starpo.algorithms.registry import KL_ESTIMATORS
from ragen_starpo.recipes.sections import LossSettings
from tests.ragen_starpo.algorithms.batches import batches

seeds = st.integers(0, 2**31)


def normal(shape, seed, scale=1.0):
    noise = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=noise, dtype=torch.float64) * scale


def token_mean(losses, mask):
    return core_algos.agg_loss(losses, mask, "token-mean")


def kl_of(new, old, mask):
    return float(-masked_mean(compute_log_ratio(new, old, mask), mask))


def close(found, wanted):
    torch.testing.assert_close(found, wanted, rtol=1e-7, atol=1e-9)


@given(batches(), seeds, st.floats(0.05, 0.3), st.floats(0.05, 0.4), st.floats(1.1, 4))
def test_policy_loss_is_verls(batch, seed, low, high, dual):
    mask, _, _, values = batch
    old = normal(mask.shape, seed) - 2
    new = old + normal(mask.shape, seed + 1, 0.4)
    advantages = values * mask
    config = ActorConfig(
        strategy="fsdp",
        rollout_n=1,
        ppo_micro_batch_size_per_gpu=1,
        clip_ratio=low,
        clip_ratio_low=low,
        clip_ratio_high=high,
        clip_ratio_c=dual,
    )
    theirs, metrics = core_algos.compute_policy_loss_vanilla(
        old, new, advantages, mask, "token-mean", config
    )
    losses, found = ppo_loss(new, old, advantages, mask, low, high, dual)
    close(token_mean(losses, mask), theirs)
    assert float(found["clip_fraction"]) == pytest.approx(metrics["actor/pg_clipfrac"], abs=1e-6)
    assert float(found["dual_clip_fraction"]) == pytest.approx(
        metrics["actor/pg_clipfrac_lower"], abs=1e-6
    )
    assert kl_of(new, old, mask) == pytest.approx(metrics["actor/ppo_kl"], abs=1e-6)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "gradient"),
    [
        (1.0, 2.0, -2.0, -2.0),
        (1.27, 1.0, -1.27, -1.27),
        (1.5, 1.0, -1.28, 0.0),
        (0.5, 1.0, -0.5, -0.5),
        (0.5, -1.0, 0.8, 0.0),
        (0.85, -1.0, 0.85, 0.85),
        (2.0, -1.0, 2.0, 2.0),
        (5.0, -1.0, 3.0, 0.0),
    ],
)
def test_where_the_gradient_ends(ratio, advantage, loss, gradient):
    """d loss / d log-probability is the loss itself, or nothing where a bound holds."""
    log_probs = torch.tensor([[math.log(ratio)]], dtype=torch.float64, requires_grad=True)
    one = torch.ones(1, 1)
    losses, _ = ppo_loss(log_probs, torch.zeros(1, 1), torch.tensor([[advantage]]), one)
    losses.sum().backward()
    assert losses.item() == pytest.approx(loss)
    assert log_probs.grad.item() == pytest.approx(gradient)


@pytest.mark.parametrize(("log_ratio", "advantage"), [(500.0, -1.0), (-500.0, 1.0), (500.0, 1.0)])
def test_ratios_are_bounded_before_their_exponential(log_ratio, advantage):
    one, new = torch.ones(1, 1), torch.tensor([[log_ratio]])
    old = torch.zeros(1, 1)
    losses, _ = ppo_loss(new, old, torch.tensor([[advantage]]), one, dual_clip=None)
    assert torch.isfinite(losses).all()
    assert kl_of(new, old, one) == pytest.approx(-math.copysign(20, log_ratio))


def test_no_dual_clip():
    one = torch.ones(1, 1)
    old, new = torch.zeros(1, 1), torch.full((1, 1), math.log(5.0))
    losses, metrics = ppo_loss(new, old, -one, one, dual_clip=None)
    assert losses.item() == pytest.approx(5.0)
    assert metrics["dual_clip_fraction"].item() == 0


def test_observations_are_out_even_where_nothing_is_finite():
    mask = torch.tensor([[1, 0]])
    log_probs = torch.tensor([[-1.0, -math.inf]], requires_grad=True)
    old = torch.tensor([[-1.0, -math.inf]])
    losses, _ = ppo_loss(log_probs, old, torch.tensor([[2.0, 0.0]]), mask)
    loss = token_mean(losses, mask)
    loss.backward()
    assert loss.item() == -2.0
    assert log_probs.grad.tolist() == [[-2.0, 0.0]]


@given(batches(), seeds, st.floats(0.01, 1))
def test_value_loss_is_verls(batch, seed, clip):
    mask, _, _, values = batch
    old, returns = normal(mask.shape, seed), normal(mask.shape, seed + 1)
    theirs, bounded = core_algos.compute_value_loss(values, returns, old, mask, clip)
    losses, share = value_loss(values, old, returns, mask, clip)
    close(token_mean(losses, mask), theirs)
    assert float(share) == pytest.approx(float(bounded), abs=1e-6)


@pytest.mark.parametrize("estimator", KL_ESTIMATORS)
@given(seeds)
def test_kl_is_verls(estimator, seed):
    log_probs, reference = normal((3, 4), seed), normal((3, 4), seed + 1)
    theirs = core_algos.kl_penalty_forward(log_probs, reference, estimator)
    found = kl_penalty(log_probs, reference, estimator)
    # verl holds its k3 within 10.
    close(found.clamp(-10, 10) if estimator == "k3" else found, theirs)


@pytest.mark.parametrize("estimator", ["k1", "k3"])
def test_k1_and_k3_have_no_bias(estimator):
    """Their expectation over the policy's tokens is the divergence, by enumeration."""
    policy = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    reference = torch.tensor([0.2, 0.2, 0.6], dtype=torch.float64)
    wanted = (policy * (policy / reference).log()).sum()
    close((policy * kl_penalty(policy.log(), reference.log(), estimator)).sum(), wanted)


@pytest.mark.parametrize("estimator", KL_ESTIMATORS)
@given(seeds, st.floats(0.5, 3))
def test_the_expected_gradient_is_that_of_the_divergence(estimator, seed, scale):
    """Of a categorical policy, by enumeration; that of k1 itself is 0, that of k3 another one."""
    logits = normal((5,), seed, scale).requires_grad_()
    reference = torch.log_softmax(normal((5,), seed + 1, scale), 0)
    log_probs = torch.log_softmax(logits, 0)
    divergence = (log_probs.exp() * (log_probs - reference)).sum()
    (wanted,) = torch.autograd.grad(divergence, logits, retain_graph=True)
    expected = (log_probs.exp().detach() * kl_penalty(log_probs, reference, estimator)).sum()
    (found,) = torch.autograd.grad(expected, logits)
    assert wanted.abs().max() > 1e-6
    close(found, wanted)


@pytest.mark.parametrize("estimator", KL_ESTIMATORS)
@given(seeds)
def test_kl_and_its_gradient_are_those_of_verls_straight_through_forms(estimator, seed):
    reference = normal((3, 4), seed + 1)
    both = []
    for penalty, name in ((core_algos.kl_penalty, f"{estimator}+"), (kl_penalty, estimator)):
        log_probs = normal((3, 4), seed).requires_grad_()
        found = penalty(log_probs, reference, name)
        found.sum().backward()
        both.append((found.detach().clamp(-10, 10), log_probs.grad))
    for one, other in zip(*both, strict=True):
        close(one, other)


def test_k3_stays_finite():
    far = kl_penalty(torch.tensor([500.0]), torch.tensor([0.0]), "k3")
    assert far.item() == pytest.approx(19 + math.exp(-20))
    found = kl_penalty(torch.tensor([-500.0]), torch.tensor([0.0]), "k3")
    assert torch.isfinite(found).all()
    with pytest.raises(ValueError, match="unknown estimator 'k4'; choose one of: k1, k2, k3"):
        kl_penalty(found, found, "k4")


def test_a_clip_may_leave_no_room():
    settings = LossSettings(clip_low=0, clip_high=0)
    assert settings.clip_low == settings.clip_high == 0


@pytest.mark.parametrize(
    "bad", [{"clip_low": 1.0}, {"clip_low": -0.1}, {"clip_high": -0.1}, {"dual_clip": 1.0}]
)
def test_bad_clips(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        LossSettings(**bad)
