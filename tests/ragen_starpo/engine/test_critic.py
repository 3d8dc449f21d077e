import pytest
import torch

from ragen_starpo.algorithms.aggregation import token_weights
from ragen_starpo.algorithms.losses import value_loss
from ragen_starpo.engine.worker import Critic
from ragen_starpo.recipes.run_sections import OptimiserSettings
from tests.ragen_starpo.engine.batches import plain_critic, plain_values, token_batch

pytestmark = pytest.mark.slow

SETTINGS = OptimiserSettings(learning_rate=1e-2)


def loss_of_rows(values, given):
    losses, clipped = value_loss(values, given["old"], given["returns"], given["mask"], 3.0)
    return (losses * given["weights"]).sum(), {"clip_fraction": clipped}


@pytest.mark.parametrize("size", [1, 4])
def test_values_are_those_before_each_sampled_token(model_dir, size):
    batch = token_batch()
    critic = Critic(model_dir, SETTINGS, size)
    values = critic.values(batch)
    assert values.shape == batch.ids.shape
    with torch.no_grad():
        expected = plain_values(plain_critic(critic, model_dir), batch)
    torch.testing.assert_close(values, expected, atol=1e-5, rtol=0)
    assert values[batch.mask == 1].all()


def test_the_head_is_one_vector_drawn_from_the_seed(model_dir, tied_dir):
    heads = [Critic(model_dir, SETTINGS, 2, seed=s)._backend.state() for s in (0, 0, 1)]
    assert heads[0]["score.weight"].shape == (1, 32)
    assert torch.equal(heads[0]["score.weight"], heads[1]["score.weight"])
    assert not torch.equal(heads[0]["score.weight"], heads[2]["score.weight"])
    assert "lm_head.weight" not in heads[0]


def test_training_brings_values_to_returns_in_micro_batches_of_any_size(tied_dir):
    batch = token_batch()
    found = []
    for size in (3, 7):
        critic = Critic(tied_dir, SETTINGS, size)
        given = {
            "old": critic.values(batch),
            "returns": 0.5 * batch.mask + 0.1 * batch.turns,
            "weights": token_weights(batch.mask, "token-mean"),
        }
        found.append([critic.update(batch, given, loss_of_rows) for _ in range(8)])
        with torch.no_grad():
            assert critic.values(batch).shape == batch.ids.shape
    assert found[0][-1]["loss"] < found[0][0]["loss"] / 2
    for one, other in zip(*found, strict=True):
        assert one == pytest.approx(other, rel=1e-3, abs=1e-4)
