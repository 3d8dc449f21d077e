"""The optimiser compared with torch's own."""

import pytest
import torch
from torch.distributed.tensor import DTensor
from torch.optim import AdamW

from ragen_starpo.engine.platform import prepare
from ragen_starpo.engine.worker import Policy
from ragen_starpo.recipes.sections import OptimiserSettings
from tests.ragen_starpo.engine.batches import columns, token_batch

pytestmark = pytest.mark.slow

SETTINGS = OptimiserSettings(learning_rate=3e-3, weight_decay=0.1)


@pytest.fixture(scope="module")
def optimiser_class():
    prepare()
    from ragen_starpo.engine.backend import ShardAdamW

    return ShardAdamW


def loss_of_rows(log_probs, entropies, given):
    return -(log_probs * given["advantages"]).sum(), {}


def optimiser_of(policy):
    return policy._backend.worker.engine.optimizer


def test_steps_are_those_of_adamw_to_the_bit(model_dir, optimiser_class):
    ours, theirs = Policy(model_dir, SETTINGS, 4), Policy(model_dir, SETTINGS, 4)
    assert type(optimiser_of(ours)) is optimiser_class
    optimiser_of(theirs).__class__ = AdamW
    batch = token_batch()
    for _ in range(3):
        for policy in (ours, theirs):
            policy.update(batch, columns(batch), loss_of_rows)
    expected = theirs.state_for_rollout()
    found = ours.state_for_rollout()
    assert all(torch.equal(found[name], expected[name]) for name in expected)
    # verl's checkpoints hold the moments as they hold the weights.
    moments = [state["exp_avg"] for state in optimiser_of(ours).state.values()]
    assert {type(moment) for moment in moments} == {DTensor}


def test_a_step_is_taken_on_plain_tensors(model_dir, monkeypatch, optimiser_class):
    policy = Policy(model_dir, SETTINGS, 4)
    worked_on = []
    filled = optimiser_class._init_group

    def recorded(self, group, *lists):
        has_complex = filled(self, group, *lists)
        worked_on.extend(tensor for tensors in lists for tensor in tensors)
        return has_complex

    monkeypatch.setattr(optimiser_class, "_init_group", recorded)
    batch = token_batch()
    policy.update(batch, columns(batch), loss_of_rows)
    # Each weight with its gradient, two moments and the number of steps.
    assert len(worked_on) == 5 * len(list(policy._backend.module.parameters()))
    assert DTensor not in set(map(type, worked_on))
