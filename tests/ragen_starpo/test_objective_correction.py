"""The correction of the gap between the engine and the trainer, against verl's own."""

import math
from types import SimpleNamespace

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from verl.trainer.ppo import core_algos
from verl.trainer.ppo.rollout_corr_helper import (
    compute_rollout_correction_and_rejection_mask as verls,
)
from verl.workers.config import ActorConfig

from ragen_starpo.algorithms.aggregation import token_weights
from ragen_starpo.objective import correct_gap, policy_contribution, reject_tokens
from ragen_starpo.recipes.sections import CorrectionSettings, LossSettings
from tests.ragen_starpo.algorithms.batches import batches

pytestmark = pytest.mark.slow

LEVELS = ("token", "sequence")
seeds = st.integers(0, 2**30)
scales = st.sampled_from([0.0, 0.05, 0.4, 8.0, 30.0])
thresholds = st.sampled_from([1.0, 1.1, 2.0, 50.0])


def normal(shape, seed, scale=1.0):
    noise = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=noise, dtype=torch.float64) * scale


def sampled_by(mask, log_probs, trajectories=None):
    """Return what the correction reads of a batch; each row is a trajectory of its own if None."""
    of = torch.arange(len(mask)) if trajectories is None else torch.tensor(trajectories)
    return SimpleNamespace(mask=mask, log_probs=log_probs, trajectories=of)


@pytest.mark.parametrize("level", LEVELS)
@given(batches(), seeds, scales, thresholds)
def test_weights_and_figures_are_verls(level, batch, seed, scale, threshold):
    mask, _, _, advantages = batch
    old = normal(mask.shape, seed) - 2
    sampled = old - normal(mask.shape, seed + 1, scale)
    played = sampled_by(mask, sampled)
    found, told = correct_gap(CorrectionSettings(level, threshold), advantages, old, played)
    theirs, kept, metrics = verls(old, sampled, mask, level, threshold)
    weights = theirs.batch["rollout_is_weights"]
    assert torch.equal(kept, mask)
    torch.testing.assert_close(found, advantages * weights, rtol=1e-9, atol=1e-12)
    of_verl = {name.removeprefix("rollout_corr/"): value for name, value in metrics.items()}
    assert told["correction/weight"] == pytest.approx(of_verl["rollout_is_mean"], rel=1e-6)
    assert told["correction/kl"] == pytest.approx(of_verl["kl"], rel=1e-6, abs=1e-9)
    if told["correction/weight"] > 1e-3:  # verl adds 1e-8 to the mean
        size = of_verl["rollout_is_eff_sample_size"]
        assert told["correction/effective"] == pytest.approx(size, rel=1e-4)
    held = of_verl["rollout_is_ratio_fraction_high"]
    if level == "sequence":  # verl's share is of trajectories, ours of their tokens
        longer = ((old - sampled) * mask).sum(1) > torch.tensor(threshold).log()
        held = float((longer[:, None] * mask).sum() / mask.sum())
    assert told["correction/truncated"] == pytest.approx(held, abs=1e-6)


@pytest.mark.parametrize("level", LEVELS)
@given(batches(), seeds, st.sampled_from([None, 1.5]))
def test_the_weighted_loss_is_verls(level, batch, seed, dual):
    """verl weights the clipped loss of a token, and here its advantage is weighted before."""
    mask, _, _, advantages = batch
    old = normal(mask.shape, seed) - 2
    new, sampled = old + normal(mask.shape, seed + 1, 0.4), old - normal(mask.shape, seed + 2, 0.4)
    played = sampled_by(mask, sampled)
    weighted, _ = correct_gap(CorrectionSettings(level), advantages, old, played)
    settings = LossSettings(0.2, 0.3, dual, entropy=0.0)
    columns = {
        "mask": mask,
        "weights": token_weights(mask, "token-mean").double(),
        "advantages": weighted,
        "old_log_probs": old,
    }
    loss, means = policy_contribution(settings, new, torch.zeros_like(old), columns)
    config = ActorConfig(
        strategy="fsdp",
        rollout_n=1,
        ppo_micro_batch_size_per_gpu=1,
        clip_ratio=0.2,
        clip_ratio_low=0.2,
        clip_ratio_high=0.3,
        clip_ratio_c=dual or 1e9,
    )
    weights = verls(old, sampled, mask, level, 2.0)[0].batch["rollout_is_weights"]
    theirs, metrics = core_algos.compute_policy_loss_vanilla(
        old, new, advantages, mask, "token-mean", config, weights
    )
    torch.testing.assert_close(loss, theirs, rtol=1e-5, atol=1e-7, check_dtype=False)
    assert float(means["clip_fraction"]) == pytest.approx(metrics["actor/pg_clipfrac"], abs=1e-6)


@pytest.mark.parametrize(
    ("reject", "name"),
    [("token", "token_k1"), ("sequence", "seq_sum_k1"), ("sequence-mean", "seq_mean_k1")],
)
@given(batches(), seeds, scales, st.floats(0.1, 1.0), st.floats(1.0, 4.0))
def test_rejected_tokens_are_verls(reject, name, batch, seed, scale, low, high):
    """verl's bounds are those of the inverse ratio."""
    mask = batch[0]
    old = normal(mask.shape, seed) - 2
    sampled = old - normal(mask.shape, seed + 1, scale)
    assume(mask.any())
    ratios = torch.where(mask.bool(), old - sampled, 0.0).clamp(-20, 20)
    if reject != "token":
        ratios = ratios.sum(1)
    if reject == "sequence-mean":
        ratios = ratios / mask.sum(1).clamp(min=1)
    # On a bound, rounding decides.
    assume(min((ratios - math.log(bound)).abs().min() for bound in (low, high)) > 1e-5)
    settings = CorrectionSettings(reject=reject, reject_low=low, reject_high=high)
    kept, told = reject_tokens(settings, old, sampled_by(mask, sampled))
    bounds = f"{1 / high!r}_{1 / low!r}"
    _, theirs, metrics = verls(old, sampled, mask, rollout_rs=name, rollout_rs_threshold=bounds)
    assert torch.equal(kept, theirs)
    rejected = metrics["rollout_corr/rollout_rs_masked_fraction"]
    assert told == {"correction/rejected": pytest.approx(rejected, abs=1e-6)}


def test_all_sequences_of_a_trajectory_are_rejected_together():
    mask = torch.tensor([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    played = sampled_by(mask, torch.full((3, 3), -1.5), [0, 0, 1])
    old = torch.tensor([[9.0, -1.4, -1.4], [-0.9, 9.0, 9.0], [-1.0, 9.0, 9.0]])
    for reject, high, rows in (("sequence", 2, [0, 0, 1]), ("sequence-mean", 1.5, [1, 1, 0])):
        settings = CorrectionSettings(reject=reject, reject_high=high)
        kept, _ = reject_tokens(settings, old, played)
        assert kept.tolist() == (mask * torch.tensor(rows)[:, None]).tolist()


def test_a_trajectory_of_several_sequences_has_one_weight():
    mask = torch.tensor([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    played = sampled_by(mask, torch.full((3, 3), -1.5), [0, 0, 1])
    old = torch.tensor([[9.0, -1.25, -1.25], [-1.75, 9.0, 9.0], [-1.0, 9.0, 9.0]])
    found, told = correct_gap(CorrectionSettings("sequence"), torch.ones(3, 3), old, played)
    weights = torch.tensor([0.25, 0.25, 0.5]).exp()
    torch.testing.assert_close(found, weights[:, None] * mask)
    assert told["correction/weight"] == pytest.approx(float((weights * mask.sum(1)).sum() / 4))


@given(batches(), seeds)
def test_without_a_correction_nothing_changes(batch, seed):
    mask, _, _, advantages = batch
    played = sampled_by(mask, normal(mask.shape, seed))
    found, told = correct_gap(
        CorrectionSettings(), advantages, normal(mask.shape, seed + 1), played
    )
    assert found is advantages
    assert told == {}


def test_observations_are_out_even_where_nothing_is_finite():
    mask = torch.tensor([[1, 0]])
    played = sampled_by(mask, torch.tensor([[-1.5, -torch.inf]]))
    old = torch.tensor([[-1.0, torch.inf]])
    for level in LEVELS:
        found, told = correct_gap(CorrectionSettings(level), torch.ones(1, 2), old, played)
        torch.testing.assert_close(found, torch.tensor([[0.5, 0.0]]).exp() * mask)
        assert told["correction/kl"] == pytest.approx(-0.5)


def test_a_gap_of_another_policy_is_what_its_weights_say():
    """By enumeration: the mean weight of what one policy samples is 1, whatever the other is."""
    sampling = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    trained = torch.tensor([0.2, 0.2, 0.6], dtype=torch.float64)
    mask = torch.ones(10, 1, dtype=torch.int64)
    tokens = torch.tensor([0] * 5 + [1] * 3 + [2] * 2)
    played = sampled_by(mask, sampling.log()[tokens][:, None])
    found, told = correct_gap(
        CorrectionSettings("token", 9.0),
        torch.ones(10, 1, dtype=torch.float64),
        trained.log()[tokens][:, None],
        played,
    )
    torch.testing.assert_close(found[:, 0], (trained / sampling)[tokens])
    assert told["correction/weight"] == pytest.approx(1)
    assert told["correction/kl"] == pytest.approx(
        float((sampling * (sampling / trained).log()).sum())
    )
    assert told["correction/effective"] == pytest.approx(
        1 / float((trained.square() / sampling).sum())
    )
