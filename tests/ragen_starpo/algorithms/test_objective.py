"""The policy's loss, as a driver asks for it."""

import pytest
import torch

from ragen_starpo.algorithms.objective import policy_contribution
from ragen_starpo.recipes.sections import KL_ESTIMATORS, LossSettings

REFERENCE = torch.tensor([0.2, 0.2, 0.6], dtype=torch.float64).log()


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
