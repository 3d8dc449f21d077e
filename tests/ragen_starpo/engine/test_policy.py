import json
import math
import shutil

import pytest
import torch
from transformers import AutoModelForCausalLM
from verl.trainer.ppo.core_algos import agg_loss

from ragen_starpo.algorithms.aggregation import token_weights
from ragen_starpo.algorithms.losses import ppo_loss
from ragen_starpo.algorithms.masked import masked_mean
from ragen_starpo.engine.worker import Policy, Reference
from ragen_starpo.recipes.run_sections import OptimiserSettings
from tests.ragen_starpo.engine.batches import columns, plain_log_probs, token_batch

pytestmark = pytest.mark.slow

SETTINGS = OptimiserSettings(learning_rate=3e-3, clip_grad=0.7)
ENTROPY = 0.01
TEMPERATURE = 0.8


def mean_kl(log_probs, given, mask):
    return masked_mean(given["old_log_probs"] - log_probs.detach(), mask)


def loss_of_rows(log_probs, entropies, given):
    mask = given["mask"]
    losses, metrics = ppo_loss(log_probs, given["old_log_probs"], given["advantages"], mask)
    loss = ((losses - ENTROPY * entropies) * given["weights"]).sum()
    return loss, metrics | {"kl": mean_kl(log_probs, given, mask)}


def plain_loss(model, batch, given, how):
    log_probs, entropies = plain_log_probs(model, batch, TEMPERATURE)
    losses, metrics = ppo_loss(log_probs, given["old_log_probs"], given["advantages"], batch.mask)
    metrics |= {"kl": mean_kl(log_probs, given, batch.mask)}
    return agg_loss(losses - ENTROPY * entropies, batch.mask, how), metrics


def gradients_taken(policy):
    """Return a list that will have the gradients of each step, before clipping."""
    taken = []
    backend = policy._backend
    backward = backend._backward

    def recorded(*given):
        total = backward(*given)
        named = backend.module.named_parameters()
        taken.append({n: p.grad.clone() for n, p in named if p.grad is not None})
        return total

    backend._backward = recorded
    return taken


@pytest.mark.parametrize("size", [1, 3, 50])
@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_log_probs_and_entropies_are_those_of_transformers(model_dir, size, temperature):
    batch = token_batch()
    found = Policy(model_dir, SETTINGS, size).log_probs(batch, temperature)
    model = AutoModelForCausalLM.from_pretrained(model_dir)
    with torch.no_grad():
        expected = plain_log_probs(model, batch, temperature)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=0)
        assert not one[batch.mask == 0].any()
        assert not one.requires_grad
    assert found[0][batch.mask == 1].max() < 0


def test_a_reference_says_what_the_policy_said_before_it_was_trained(tied_dir):
    batch = token_batch(1)
    policy, reference = Policy(tied_dir, SETTINGS, 4), Reference(tied_dir, 3)
    before = policy.log_probs(batch)[0]
    torch.testing.assert_close(reference.log_probs(batch)[0], before, atol=1e-5, rtol=0)
    weights = {"w": batch.mask}
    policy.update(batch, weights, lambda log_probs, _, c: (-(log_probs * c["w"]).sum(), {}))
    torch.testing.assert_close(reference.log_probs(batch)[0], before, atol=1e-5, rtol=0)
    assert not torch.allclose(policy.log_probs(batch)[0], before, atol=1e-3)


@pytest.mark.parametrize("how", ["token-mean", "seq-mean-token-mean", "seq-mean-token-sum"])
@pytest.mark.parametrize("tied", [False, True])
def test_the_gradient_is_that_of_plain_torch_in_micro_batches_of_any_size(
    model_dir, tied_dir, how, tied
):
    folder = tied_dir if tied else model_dir
    batch = token_batch()
    given = columns(batch)
    model = AutoModelForCausalLM.from_pretrained(folder)
    loss, watched = plain_loss(model, batch, given, how)
    loss.backward()
    expected = {name: p.grad for name, p in model.named_parameters()}
    norm = torch.nn.utils.get_total_norm(expected.values())
    given["weights"] = token_weights(batch.mask, how)
    for size in (1, 2, 4, 7):
        policy = Policy(folder, SETTINGS, size)
        taken = gradients_taken(policy)
        metrics = policy.update(batch, given, loss_of_rows, TEMPERATURE)
        assert taken[0].keys() == expected.keys()
        for name, gradient in expected.items():
            torch.testing.assert_close(taken[0][name], gradient, atol=1e-6, rtol=1e-4)
        assert metrics == {
            "dual_clip_fraction": pytest.approx(watched["dual_clip_fraction"].item()),
            "clip_fraction": pytest.approx(watched["clip_fraction"].item()),
            "kl": pytest.approx(watched["kl"].item(), rel=1e-4),
            "loss": pytest.approx(loss.item(), rel=1e-4),
            "grad_norm": pytest.approx(norm.item(), rel=1e-4),
            "lr": SETTINGS.learning_rate,
        }
    assert 0 < metrics["clip_fraction"] < 1


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_a_gradient_that_is_only_measured_leaves_the_next_step_as_it_is(
    model_dir, tmp_path, dropout
):
    """With dropout it draws what that step draws, which then draws it again."""
    folder = shutil.copytree(model_dir, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "attention_dropout": dropout}))
    batch = token_batch()
    given = {**columns(batch), "weights": token_weights(batch.mask, "token-mean")}
    plain, measured = Policy(folder, SETTINGS, 3), Policy(folder, SETTINGS, 3)
    steps, norms = [], []
    for policy in (plain, measured):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            for _ in range(2):
                if policy is measured:
                    norms.append(policy.gradient_norm(batch, given, loss_of_rows, TEMPERATURE))
                steps.append(policy.update(batch, given, loss_of_rows, TEMPERATURE))
    assert norms == pytest.approx([step["grad_norm"] for step in steps[:2]], rel=1e-5)
    assert steps[:2] == steps[2:]
    weights = [policy.state_for_rollout() for policy in (plain, measured)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_steps_are_those_of_adamw_after_clipping_and_warming_up(model_dir):
    settings = OptimiserSettings(
        2e-3, betas=(0.8, 0.95), weight_decay=0.1, clip_grad=0.5, warmup_steps=2
    )
    model = AutoModelForCausalLM.from_pretrained(model_dir)
    optimiser = torch.optim.AdamW(model.parameters(), betas=(0.8, 0.95), weight_decay=0.1)
    policy = Policy(model_dir, settings, 3)
    for step, rate in enumerate([0.0, 1e-3, 2e-3, 2e-3]):
        batch = token_batch(step)
        given = columns(batch, step)
        # Adam does not see the scale of gradients, but that clipping changes one against another.
        scale = 0.02 if step == 2 else 1.0
        loss = scale * plain_loss(model, batch, given, "token-mean")[0]
        optimiser.param_groups[0]["lr"] = rate
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimiser.step()
        given["weights"] = scale * token_weights(batch.mask, "token-mean")
        assert policy.update(batch, given, loss_of_rows, TEMPERATURE)["lr"] == rate
    for name, weight in policy.state_for_rollout().items():
        torch.testing.assert_close(weight, model.state_dict()[name], atol=2e-5, rtol=1e-4)


def test_the_rate_falls_along_half_a_cosine(model_dir):
    policy = Policy(model_dir, OptimiserSettings(2e-3, warmup_steps=2, decay_steps=6), 4)
    batch = token_batch()
    weights = {"weights": token_weights(batch.mask, "token-mean")}
    rates = [policy.update(batch, weights, likelihood)["lr"] for _ in range(6)]
    half_root = math.sqrt(0.5) / 2
    expected = [0.0, 0.5, 1.0, 0.5 + half_root, 0.5, 0.5 - half_root]
    assert rates == pytest.approx([2e-3 * share for share in expected])


def likelihood(log_probs, _, given):
    return -(log_probs * given["weights"]).sum(), {}


def test_supervised_training_lowers_its_loss(model_dir):
    batch = token_batch()
    policy = Policy(model_dir, OptimiserSettings(1e-2), 4)
    weights = {"weights": token_weights(batch.mask, "token-mean")}
    losses = [policy.update(batch, weights, likelihood)["loss"] for _ in range(12)]
    assert losses[-1] < losses[0] / 2
    assert policy.log_probs(batch)[0].sum() / batch.mask.sum() > -losses[0] / 2


def test_a_gradient_that_is_not_finite_is_told_and_not_followed(model_dir, caplog):
    policy = Policy(model_dir, SETTINGS, 8)
    before = policy.state_for_rollout()
    metrics = policy.update(
        token_batch(), {}, lambda log_probs, *_: (log_probs.sum() * math.inf, {})
    )
    assert not math.isfinite(metrics["grad_norm"])
    assert "grad_norm is not finite" in caplog.text
    assert all(torch.equal(w, before[name]) for name, w in policy.state_for_rollout().items())


def test_an_error_in_a_loss_is_raised_and_the_next_step_is_as_if_it_had_not_been(model_dir):
    batch = token_batch()

    def sound(log_probs, *_):
        return -log_probs.sum(), {}

    def broken(log_probs, _, given):
        if given["mask"].sum() == 18:  # the second of two micro-batches, that of long rows
            raise ArithmeticError("of the loss")
        return log_probs.sum(), {}

    policies = [Policy(model_dir, SETTINGS, 4) for _ in range(2)]
    with pytest.raises(ArithmeticError, match="of the loss"):
        policies[0].update(batch, {}, broken)
    states = []
    for policy in policies:
        policy.update(batch, {}, sound)
        states.append(policy.state_for_rollout())
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.parametrize(
    ("layouts", "message"),
    [([(), ((1, 1),)], None), ([(), ()], "no sampled token"), ([((0, 2),)], "is the first")],
)
def test_batches_that_nothing_can_be_learnt_from_are_refused(model_dir, layouts, message):
    policy = Policy(model_dir, SETTINGS, 4)

    def loss(log_probs, *_):
        return log_probs.sum(), {}

    batch = token_batch(layouts=layouts)
    if message is None:
        assert policy.update(batch, {}, loss)["grad_norm"] > 0
        return
    for call in (lambda: policy.update(batch, {}, loss), lambda: policy.log_probs(batch)):
        with pytest.raises(ValueError, match=message):
            call()


def test_a_column_of_other_rows_is_refused(model_dir):
    policy = Policy(model_dir, SETTINGS, 4)
    with pytest.raises(ValueError, match="advantages has 2 rows, the batch has 7"):
        policy.update(token_batch(), {"advantages": torch.zeros(2, 5)}, loss_of_rows)
