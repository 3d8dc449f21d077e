"""Micro-batches by tokens and packed rows change what is computed at once, and no figure."""

import pytest
import torch

from ragen_bench.errors import UserError
from ragen_starpo.algorithms.aggregation import token_weights
from ragen_starpo.engine import computing
from ragen_starpo.engine.computing import Computing, computing_of
from ragen_starpo.engine.worker import Critic, Policy, Reference
from ragen_starpo.recipes.recipe import recipe_of
from tests.ragen_starpo.engine.batches import columns, token_batch
from tests.ragen_starpo.engine.test_policy import (
    SETTINGS,
    TEMPERATURE,
    gradients_taken,
    loss_of_rows,
)

pytestmark = pytest.mark.slow

TOKENS = 20
WAYS = [Computing(TOKENS), Computing(packing=True), Computing(TOKENS, packing=True)]


def computed_at_once(model):
    """Return a list that will have the shapes of what the model is given."""
    shapes = []
    engine = model._backend.worker.engine
    prepare = engine.prepare_model_inputs

    def watched(micro_batch):
        inputs, others = prepare(micro_batch)
        shapes.append((tuple(inputs["input_ids"].shape), micro_batch["input_ids"].values().numel()))
        return inputs, others

    engine.prepare_model_inputs = watched
    return shapes


def learned(folder, way):
    """Return what a policy says, its gradients and its figures, and what it computed at once."""
    batch = token_batch()
    given = {**columns(batch), "weights": token_weights(batch.mask, "token-mean")}
    policy = Policy(folder, SETTINGS, 3, computing=way)
    shapes, taken = computed_at_once(policy), gradients_taken(policy)
    said = policy.log_probs(batch, TEMPERATURE)
    figures = policy.update(batch, given, loss_of_rows, TEMPERATURE)
    return said, taken[0], figures, shapes


@pytest.fixture(scope="module")
def plain(model_dir):
    return learned(model_dir, Computing())


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_policy_says_and_learns_the_same(model_dir, plain, way):
    said, gradients, figures, shapes = learned(model_dir, way)
    for one, other in zip(said, plain[0], strict=True):
        torch.testing.assert_close(one, other, atol=2e-6, rtol=1e-6)
    assert gradients.keys() == plain[1].keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, plain[1][name], atol=1e-6, rtol=1e-5)
    assert figures == pytest.approx(plain[2], rel=1e-5, abs=1e-7)
    lengths = token_batch().attention.sum(1)
    # Scored and learned from, in as few parts as their tokens allow.
    parts = {
        (TOKENS, True): -(-int(lengths.sum()) // TOKENS),
        (TOKENS, False): -(-len(lengths) // (TOKENS // int(lengths.max()))),
        (None, True): 3,
    }
    assert len(shapes) == 2 * parts[way.tokens, way.packing]
    for shape, tokens in shapes:
        if way.tokens:
            assert shape[0] * shape[1] <= TOKENS
        if way.packing:
            assert shape == (1, tokens)


@pytest.mark.parametrize("packing", [True, False])
def test_a_longer_row_raises_the_limit_of_all(model_dir, packing):
    batch = token_batch()
    reference = Reference(model_dir, 3, Computing(4, packing=packing))
    shapes = computed_at_once(reference)
    found = reference.log_probs(batch)[0]
    expected = Reference(model_dir, 3).log_probs(batch)[0]
    torch.testing.assert_close(found, expected, atol=2e-6, rtol=1e-6)
    lengths = [max(1, int(length)) for length in batch.attention.sum(1)]
    longest = max(lengths)
    assert longest > 4
    # As few packed parts as fit the longest one, where four tokens each would be more; padded ones
    # have a row each.
    assert len(shapes) == (-(-sum(lengths) // longest) if packing else len(lengths))
    assert max(tokens for _, tokens in shapes) == longest


def test_a_critic_says_the_same(tied_dir):
    batch = token_batch()
    critics = [Critic(tied_dir, SETTINGS, 3, computing=way) for way in (Computing(), WAYS[-1])]
    values = [critic.values(batch) for critic in critics]
    torch.testing.assert_close(values[0], values[1], atol=2e-6, rtol=1e-6)


def test_a_model_that_mixes_packed_rows_is_refused(model_dir, monkeypatch):
    """Stands for layers that carry a state over the end of a row."""
    monkeypatch.setattr("transformers.masking_utils.find_packed_sequence_indices", lambda _: None)
    said = "^models of the type 'qwen2' mix rows that are packed into one; set cluster.packing=off$"
    with pytest.raises(UserError, match=said):
        Reference(model_dir, 3, WAYS[-1])
    with pytest.raises(UserError, match=said):
        Critic(model_dir, SETTINGS, 3, computing=WAYS[-1])


@pytest.mark.parametrize(
    ("packing", "dtype", "device", "flash", "found"),
    [
        ("off", "bfloat16", "cuda", True, (False, "sdpa")),
        ("auto", "bfloat16", "cuda", True, (True, "flash_attention_2")),
        ("auto", "bfloat16", "cuda", False, (False, "sdpa")),
        ("auto", "float32", "cuda", True, (False, "sdpa")),
        ("auto", "bfloat16", "cpu", True, (False, "sdpa")),
        ("on", "bfloat16", "cuda", True, (True, "flash_attention_2")),
        ("on", "float32", "cuda", True, (True, "sdpa")),
        ("on", "float32", "cpu", False, (True, "sdpa")),
    ],
)
def test_packing_is_automatic_where_flash_attention_is(
    monkeypatch, packing, dtype, device, flash, found
):
    monkeypatch.setattr(computing, "_has_flash_attention", lambda: flash)
    cluster = {"packing": packing, "dtype": dtype}
    recipe = recipe_of({"model": "m", "envs": ["Bandit-v0"], "cluster": cluster}, "a test")
    settled = computing_of(recipe, device)
    assert (settled.packing, settled.attention) == found
    assert (settled.dtype, settled.tokens) == (dtype, None)
