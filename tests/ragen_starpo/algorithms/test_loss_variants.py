"""The losses gspo, cispo, clip-cov and kl-cov, against verl's own and slow references."""

import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from verl.trainer.ppo import core_algos
from verl.workers.config import ActorConfig, PolicyLossConfig

from ragen_starpo.algorithms.covariance_losses import choose_lowest
from ragen_starpo.algorithms.losses import gspo_loss, mean_over_sequences, ppo_loss
from ragen_starpo.algorithms.registry import LOSSES
from ragen_starpo.objective import policy_contribution
from ragen_starpo.recipes.sections import LossSettings
from tests.ragen_starpo.algorithms.batches import batches

VERLS = {"cispo": {}, "gspo": {}, "clip-cov": {"bounds": (0.2, 0.9)}, "kl-cov": {"weight": 0.7}}
seeds = st.integers(0, 2**31)
scales = st.sampled_from([0.0, 0.01, 0.3, 1.5])


def normal(shape, seed, scale=1.0):
    noise = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=noise, dtype=torch.float64) * scale


def inputs_of(batch, seed, scale):
    """Return the inputs of a loss, with other numbers than 0 on tokens that were not sampled."""
    mask, turns, _, advantages = batch
    old = normal(mask.shape, seed) - 2
    return {
        "old_log_probs": old,
        "log_probs": old + normal(mask.shape, seed + 1, scale),
        "advantages": advantages,
        "mask": mask,
        "sequences": torch.arange(len(mask))[:, None].expand_as(turns),
        "noise": torch.arange(mask.numel()).view(mask.shape) / mask.numel(),
    }


def settings_of(name, low=0.2, high=0.28, **own):
    return LossSettings(low, high, policy=name, settings=own, entropy=0.0)


def verls(name, inputs, settings):
    mode, own = name.replace("-", "_"), settings.settings
    config = ActorConfig(
        strategy="fsdp",
        rollout_n=1,
        ppo_micro_batch_size_per_gpu=1,
        clip_ratio_low=settings.clip_low,
        clip_ratio_high=settings.clip_high,
        policy_loss=PolicyLossConfig(
            loss_mode=mode,
            clip_cov_ratio=own.get("fraction"),
            kl_cov_ratio=own.get("fraction"),
            clip_cov_lb=own.get("bounds", (None,))[0],
            clip_cov_ub=own.get("bounds", (None,))[-1],
            ppo_kl_coef=own.get("weight"),
        ),
    )
    return core_algos.get_policy_loss_fn(mode)(
        *(inputs[key] for key in ("old_log_probs", "log_probs", "advantages", "mask")),
        loss_agg_mode="token-mean",
        config=config,
    )


@pytest.mark.parametrize("name", VERLS)
@given(batches(), seeds, scales, st.floats(0.01, 0.5), st.floats(0.01, 0.5), st.floats(0.01, 1))
def test_losses_and_their_gradients_are_verls(name, batch, seed, scale, low, high, fraction):
    own = {**VERLS[name], "fraction": fraction} if name.endswith("cov") else {}
    settings = settings_of(name, low, high, **own)
    both = []
    with pytest.MonkeyPatch.context() as patch:
        # verl draws the tokens of clip-cov; in order they are those of the lowest noise here.
        patch.setattr(torch, "randperm", torch.arange)
        for ours in (True, False):
            inputs = inputs_of(batch, seed, scale)
            new = inputs["log_probs"].requires_grad_()
            if ours:
                losses, metrics = LOSSES.find(name)(settings, **inputs)
                loss = core_algos.agg_loss(losses, inputs["mask"], "token-mean")
            else:
                loss, theirs = verls(name, inputs, settings)
            loss.backward()
            both.append((loss.detach(), new.grad))
    for found, wanted in zip(*both, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-7, atol=1e-9)
    if name in ("gspo", "cispo"):
        clipped = theirs["actor/pg_clipfrac"]
        assert float(metrics["clip_fraction"]) == pytest.approx(clipped, abs=1e-6)
    if name == "clip-cov":
        detached = theirs["actor/pg_clipfrac"]
        assert float(metrics["covariance_fraction"]) == pytest.approx(detached, abs=1e-6)


@given(batches(), seeds, st.booleans())
def test_a_ratio_is_that_of_the_sequence_in_one_row_or_several(batch, seed, flat):
    """By loops over turns; `flat` puts all rows into one, as the laboratory does."""
    mask, turns, _, values = batch
    sequences = torch.arange(len(mask))[:, None] * 10 + turns
    wanted = torch.zeros_like(values)
    for number in sequences.unique():
        here = (sequences == number) & mask.bool()
        if here.any():
            wanted[here] = sum(values[here].tolist()) / int(here.sum())
    sequences = torch.where(mask.bool(), sequences, int(seed % 50))  # of no meaning elsewhere
    shape = (1, -1) if flat else mask.shape
    found = mean_over_sequences(values.view(shape), mask.view(shape), sequences.view(shape))
    torch.testing.assert_close(found.view(mask.shape) * mask, wanted)


def test_turns_are_clipped_apart():
    mask = torch.tensor([[1, 1, 0, 1]])
    new = torch.tensor([[0.2, 0.4, 9.0, -0.5]], requires_grad=True)
    one, zero = torch.ones(1, 4), torch.zeros(1, 4)
    losses, metrics = gspo_loss(new, zero, one, mask, torch.tensor([[0, 0, 7, 1]]), 0.2, 0.2)
    (losses * mask).sum().backward()
    torch.testing.assert_close(losses[0, [0, 1, 3]], -torch.tensor([1.2, 1.2, math.exp(-0.5)]))
    torch.testing.assert_close(new.grad, torch.tensor([[0, 0, 0, -math.exp(-0.5)]]))
    assert float(metrics["clip_fraction"]) == pytest.approx(2 / 3)


def test_tokens_are_chosen_by_noise():
    """Each one of those that can be as often as the others."""
    mask = torch.tensor([[1, 1, 0, 1, 1, 1]])
    eligible = torch.tensor([[1, 1, 0, 0, 1, 1]]).bool()
    noise = torch.rand(4000, 1, 6, generator=torch.Generator().manual_seed(0))
    chosen = torch.vmap(lambda one: choose_lowest(one, eligible, 0.5, mask))(noise)
    assert (chosen.sum((1, 2)) == 2).all()
    often = chosen[:, 0].double().mean(0)
    assert often[[2, 3]].tolist() == [0, 0]
    assert ((often[[0, 1, 4, 5]] - 0.5).abs() < 0.04).all()


@pytest.mark.parametrize("name", ["ppo", *VERLS])
@given(batches(), seeds, scales)
def test_seeds_may_be_stacked(name, batch, seed, scale):
    """`policy_contribution` under vmap, with its gradient, is that of each seed."""
    assume(batch[0].any())
    settings = settings_of(name, **VERLS.get(name, {}))
    seeds = [inputs_of(batch, seed + n, scale) for n in range(3)]
    for one in seeds:
        one["weights"] = one["mask"] / one["mask"].sum()
    stacked = {key: torch.stack([one[key] for one in seeds]) for key in seeds[0]}
    leaf = stacked["log_probs"].requires_grad_()

    def contribution(log_probs, columns):
        return policy_contribution(settings, log_probs, torch.zeros_like(log_probs), columns)

    losses, metrics = torch.vmap(contribution)(leaf, stacked)
    (found,) = torch.autograd.grad(losses.sum(), leaf)
    for n, one in enumerate(seeds):
        new = one["log_probs"].detach().requires_grad_()
        loss, alone = contribution(new, one)
        direct = LOSSES.find(name)(settings, **{**one, "log_probs": new})[0]
        torch.testing.assert_close(loss, (direct * one["weights"]).sum())
        (wanted,) = torch.autograd.grad(loss, new)
        torch.testing.assert_close(losses[n], loss)
        torch.testing.assert_close(found[n], wanted)
        for key, value in alone.items():
            torch.testing.assert_close(metrics[key][n], value)


@pytest.mark.parametrize("name", VERLS)
def test_observations_are_out_even_where_nothing_is_finite(name):
    mask = torch.tensor([[1, 0]])
    inputs = {
        "old_log_probs": torch.tensor([[-1.0, -math.inf]]),
        "log_probs": torch.tensor([[-1.0, -math.inf]], requires_grad=True),
        "advantages": torch.tensor([[2.0, 0.0]]),
        "mask": mask,
        "sequences": torch.zeros(1, 2, dtype=torch.int64),
        "noise": torch.rand(1, 2),
    }
    losses, _ = LOSSES.find(name)(settings_of(name), **inputs)
    (losses * mask).sum().backward()
    assert losses[0, 0] == (2.0 if name == "cispo" else -2.0)
    assert inputs["log_probs"].grad.tolist() == [[-2.0, 0.0]]


@given(batches(), seeds)
def test_clip_cov_without_a_choice_is_ppo(batch, seed):
    inputs = inputs_of(batch, seed, 0.3)
    found, metrics = LOSSES.find("clip-cov")(settings_of("clip-cov", bounds=(1e8, 1e9)), **inputs)
    names = ("log_probs", "old_log_probs", "advantages", "mask")
    wanted, _ = ppo_loss(*(inputs[name] for name in names), dual_clip=None)
    assert torch.equal(found, wanted)
    assert metrics["covariance_fraction"] == 0


@pytest.mark.parametrize(
    ("name", "own", "said"),
    [
        ("clip-cov", {"fraction": 0}, "settings.fraction: Input should be greater than 0"),
        ("clip-cov", {"bounds": [5.0, 1.0]}, "settings.bounds: Value error, must be a lower and a"),
        ("clip-cov", {"fraction": "0.1"}, "settings.fraction: Input should be a valid number"),
        ("clip-cov", {"bounds": ["1", 5]}, r"settings.bounds.0: Input should be a valid number"),
        ("clip-cov", {"bounds": [1, 2, 3]}, "settings.bounds: Tuple should have at most 2 items"),
        ("kl-cov", {"weight": True}, "settings.weight: Input should be a valid number"),
        ("kl-cov", {"weight": math.inf}, "settings.weight: Input should be a finite number"),
        ("kl-cov", {"weight": -1}, "settings.weight: Input should be greater than or equal to 0"),
        ("kl-cov", {"bounds": [1, 2]}, "settings.bounds: kl-cov has fraction, weight"),
        ("gspo", {"fraction": 0.5}, "settings.fraction: gspo has no settings of its own"),
    ],
)
def test_bad_settings(name, own, said):
    with pytest.raises(ValueError, match=said):
        LossSettings(policy=name, settings=own)
