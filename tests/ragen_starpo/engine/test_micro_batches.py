"""Micro-batches divide what is computed at once, and change no figure."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.algorithms.aggregation import token_weights
from ragen_starpo.engine.computing import Computing
from ragen_starpo.engine.micro_batches import make_micro_batches
from ragen_starpo.engine.worker import Critic, Policy
from tests.ragen_starpo.engine.batches import columns, token_batch
from tests.ragen_starpo.engine.test_policy import (
    SETTINGS,
    TEMPERATURE,
    gradients_taken,
    loss_of_rows,
)

CPU = torch.device("cpu")
SCORED = token_batch().mask.any(1)


@given(st.integers(1, 9), st.one_of(st.none(), st.integers(1, 60)))
def test_every_sampled_token_is_in_one_micro_batch(largest, tokens):
    batch = token_batch()
    given_columns = {**columns(batch), "scores": batch.scores}
    seen = torch.zeros_like(batch.mask)
    parts = make_micro_batches(batch, given_columns, largest, tokens, CPU)
    for part in parts:
        height, width = part.ids.shape
        assert height <= largest if tokens is None else height == 1 or height * width <= tokens
        assert torch.equal(part.ids, batch.ids[part.rows, :width])
        assert torch.equal(part.labels, part.ids.flatten()[part.places])
        spread = part.spread(torch.ones(len(part.labels)))
        assert torch.equal(spread.long(), part.columns["mask"])
        assert torch.equal(part.columns["scores"], batch.scores[part.rows])
        for name in ("mask", "advantages", "old_log_probs"):
            whole = batch.mask if name == "mask" else given_columns[name]
            assert torch.equal(part.columns[name], whole[part.rows, :width])
        seen[part.rows, :width] += part.columns["mask"]
    assert torch.equal(seen, batch.mask)
    if tokens is None:
        assert len(parts) == -(-int(SCORED.sum()) // largest)


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [1, 20, 1000])
def test_a_policy_says_and_learns_the_same(model_dir, tokens):
    batch = token_batch()
    given_columns = {**columns(batch), "weights": token_weights(batch.mask, "token-mean")}
    found = []
    for computing in (Computing(), Computing(tokens)):
        policy = Policy(model_dir, SETTINGS, 3, computing=computing)
        taken = gradients_taken(policy)
        said = policy.log_probs(batch, TEMPERATURE)
        found.append((said, policy.update(batch, given_columns, loss_of_rows, TEMPERATURE), taken))
    torch.testing.assert_close(found[0][0], found[1][0], atol=2e-6, rtol=1e-6)
    assert found[1][1] == pytest.approx(found[0][1], rel=1e-5, abs=1e-7)
    torch.testing.assert_close(found[0][2], found[1][2], atol=1e-6, rtol=1e-5)


@pytest.mark.slow
def test_a_critic_says_the_same(tied_dir):
    batch = token_batch()
    values = [
        Critic(tied_dir, SETTINGS, 3, computing=computing).values(batch)
        for computing in (Computing(), Computing(20))
    ]
    torch.testing.assert_close(values[0], values[1], atol=2e-6, rtol=1e-6)
