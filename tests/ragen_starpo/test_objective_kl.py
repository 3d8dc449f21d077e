"""The gradient of the KL term under another policy's samples, against exact expectations."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.algorithms.registry import KL_ESTIMATORS
from ragen_starpo.iteration import compute_columns
from ragen_starpo.objective import correct_gap, optional_columns, policy_contribution
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.recipes.sections import CorrectionSettings, LossSettings
from ragen_starpo.rollout.trajectory import Sampled, TokenTrajectory, Turn, batch_of

VOCABULARY = 7


def draw_logits(seed, scale=1.0):
    noise = torch.Generator().manual_seed(seed)
    return torch.randn(VOCABULARY, generator=noise, dtype=torch.float64) * scale


def expected_term(logits, old, reference, sampler, correction="none", **settings):
    """Return the KL term and its gradient; each token is a row, weighted as it is drawn."""
    one = torch.ones(VOCABULARY, 1)
    log_probs = torch.log_softmax(logits, 0)[:, None]
    columns = {
        "mask": one,
        "weights": sampler.exp()[:, None],
        "advantages": 0 * log_probs.detach(),
        "old_log_probs": old[:, None],
        "reference": reference[:, None],
    }
    if correction != "none":
        batch = batch_of(
            [
                TokenTrajectory(0, (Turn((9,), Sampled((token,), (value,), True), 0.0),), {})
                for token, value in enumerate(sampler.tolist())
            ],
            pad=0,
        )
        given_ones = torch.tensor([[0.0, 1.0]] * VOCABULARY, dtype=torch.float64)
        padded = torch.stack([torch.zeros_like(old), old], 1)
        weights, _ = correct_gap(CorrectionSettings(correction, 1e9), given_ones, padded, batch)
        columns["correction"] = weights[:, 1:]
    loss = LossSettings(kl=1.0, entropy=0.0, **settings)
    term, _ = policy_contribution(loss, log_probs, torch.zeros_like(one), columns)
    return float(term.detach()), torch.autograd.grad(term, logits)[0]


def exact(logits, reference):
    log_probs = torch.log_softmax(logits, 0)
    divergence = (log_probs.exp() * (log_probs - reference)).sum()
    return float(divergence.detach()), torch.autograd.grad(divergence, logits)[0]


@pytest.mark.parametrize("estimator", KL_ESTIMATORS)
@given(st.integers(0, 2**30), st.floats(0.1, 2))
def test_with_the_ratio_the_gradient_off_policy_is_that_of_the_divergence(estimator, seed, scale):
    old = torch.log_softmax(draw_logits(seed), 0)
    logits = (draw_logits(seed) + draw_logits(seed + 1, scale)).requires_grad_()
    reference = torch.log_softmax(draw_logits(seed + 2), 0)
    value, gradient = exact(logits, reference)
    settings = {"kl_estimator": estimator, "kl_ratio": True}
    term, found = expected_term(logits, old, reference, old, **settings)
    torch.testing.assert_close(found, gradient, rtol=1e-6, atol=1e-9)
    if estimator in ("k1", "k3"):
        assert term == pytest.approx(value, rel=1e-6, abs=1e-9)


def test_without_it_the_gradient_is_off_after_the_first_step():
    """As in verl, which has no ratio in its KL loss."""
    old = torch.log_softmax(draw_logits(0), 0)
    moved = (draw_logits(0) + draw_logits(1, 0.2)).requires_grad_()
    reference = torch.log_softmax(draw_logits(2), 0)
    _, gradient = exact(moved, reference)
    errors = [
        float((expected_term(moved, old, reference, old, kl_ratio=ratio)[1] - gradient).norm())
        for ratio in (False, True)
    ]
    assert errors[0] / float(gradient.norm()) > 0.05
    assert errors[1] / float(gradient.norm()) < 1e-6
    start = draw_logits(0).requires_grad_()
    _, gradient = exact(start, reference)
    _, found = expected_term(start, old, reference, old)
    torch.testing.assert_close(found, gradient)


@pytest.mark.parametrize("level", ["token", "sequence"])
def test_the_correction_weights_the_term_too(level):
    """Where the engine samples by yet another policy than the steps begin with."""
    sampler, old = (torch.log_softmax(draw_logits(seed), 0) for seed in (3, 4))
    logits = draw_logits(5).requires_grad_()
    reference = torch.log_softmax(draw_logits(2), 0)
    value, gradient = exact(logits, reference)
    term, found = expected_term(logits, old, reference, sampler, level, kl_ratio=True)
    torch.testing.assert_close(found, gradient, rtol=1e-5, atol=1e-6)
    assert term == pytest.approx(value, rel=1e-5)


class FixedModels:
    """Models with given log-probabilities, and no critic."""

    def __init__(self, old, reference):
        self._old, self._reference = old, reference

    def old_log_probs(self):
        return self._old

    def reference_log_probs(self):
        return self._reference

    def values(self):
        return None


@pytest.mark.parametrize("ratio", [False, True])
@pytest.mark.parametrize("level", ["none", "token"])
def test_a_drivers_columns_have_the_weights_where_they_are_needed(ratio, level):
    recipe = recipe_of(
        {
            "model": "-",
            "envs": ["Bandit-v0"],
            "advantage": {"estimator": "grpo"},
            "loss": {"kl": 0.1, "kl_ratio": ratio},
            "correction": {"level": level, "threshold": 1.5},
        },
        "a test",
    )
    sampled = Sampled((5, 6), (-1.0, -1.0), True)
    batch = batch_of([TokenTrajectory(0, (Turn((9,), sampled, one),), {}) for one in (0.0, 1.0)], 0)
    old = torch.tensor([[0.0, -1.5, -0.2]] * 2)
    columns, _ = compute_columns(recipe, 0, batch, FixedModels(old, old - 1), 1.0)
    names = optional_columns(recipe.loss, recipe.correction)
    assert columns.keys() == {"advantages", "old_log_probs", *names}
    assert names == ["reference", *(["correction"] if ratio and level == "token" else [])]
    if "correction" in names:
        wanted = torch.tensor([[0.0, -0.5, 0.8]] * 2).exp().clamp(max=1.5) * batch.mask
        torch.testing.assert_close(columns["correction"], wanted)
