"""verl's engines compared with the plain ones: equal outputs and gradients in every layout."""

import pytest
from torch.testing import assert_close

from ragen_bench.errors import UserError
from ragen_starpo.algorithms.aggregation import token_weights
from ragen_starpo.engine.computing import Computing
from ragen_starpo.engine.worker import Critic, Policy
from ragen_starpo.recipes.run_sections import LoraSettings
from tests.ragen_starpo.engine.batches import columns, token_batch
from tests.ragen_starpo.engine.conftest import model_dir, tied_dir  # noqa: F401
from tests.ragen_starpo.engine.test_policy import (
    SETTINGS,
    TEMPERATURE,
    gradients_taken,
    loss_of_rows,
)
from tests.ragen_starpo.verl_process import VerlModel

pytestmark = pytest.mark.slow

TOKENS = 20
LAYOUTS = [
    Computing(),
    Computing(TOKENS),
    Computing(packing=True),
    Computing(TOKENS, packing=True),
]
LORA = LoraSettings(4, 12)


def computed_at_once(model):
    """Return a list that will have the shapes of what verl's model is given, and its tokens."""
    shapes = []
    score = model.engine.score

    def watched(rows, temperature):
        shapes.append((tuple(rows.inputs["input_ids"].shape), int(rows.offsets[-1])))
        return score(rows, temperature)

    model.engine.score = watched
    return shapes


@pytest.mark.parametrize("computing", LAYOUTS, ids=str)
@pytest.mark.parametrize("kind", ["untied", "tied", "adapted"])
def test_policies_say_and_learn_the_same(request, computing, kind):
    folder = request.getfixturevalue("model_dir" if kind == "untied" else "tied_dir")
    lora = LORA if kind == "adapted" else None
    batch = token_batch()
    given = {**columns(batch), "weights": token_weights(batch.mask, "token-mean")}
    plain = Policy(folder, SETTINGS, 3, lora, seed=1)
    sharded = VerlModel("language_model", folder, SETTINGS, 3, lora, seed=1, computing=computing)
    shapes, taken = computed_at_once(sharded), gradients_taken(plain)
    said = sharded.outputs(batch, ("log_probs", "entropy"), TEMPERATURE)
    assert_close(said, list(plain.log_probs(batch, TEMPERATURE)), atol=2e-6, rtol=2e-6)
    metrics = sharded.update(batch, given, loss_of_rows, TEMPERATURE)
    expected = plain.update(batch, given, loss_of_rows, TEMPERATURE)
    assert metrics == pytest.approx({name: expected[name] for name in metrics}, rel=1e-5)
    assert sharded.gradients.keys() == taken[0].keys()
    assert_close(sharded.gradients, taken[0], atol=1e-6, rtol=1e-5)
    for name, weight in sharded.engine.get_per_tensor_param()[0]:
        assert_close(weight, plain.state_for_rollout()[name], atol=2e-5, rtol=1e-4)
    lengths = batch.attention.sum(1)
    # Scored and learned from, in as few parts as their tokens allow.
    parts = {
        (TOKENS, True): -(-int(lengths.sum()) // TOKENS),
        (TOKENS, False): -(-len(lengths) // (TOKENS // int(lengths.max()))),
        (None, True): 3,
        (None, False): 3,
    }
    assert len(shapes) == 2 * parts[computing.tokens, computing.packing]
    for shape, tokens in shapes:
        if computing.tokens:
            assert shape[0] * shape[1] <= TOKENS
        if computing.packing:
            assert shape == (1, tokens)


@pytest.mark.parametrize("lora", [None, LORA])
@pytest.mark.parametrize("computing", [LAYOUTS[0], LAYOUTS[-1]], ids=str)
def test_critics_say_and_learn_the_same(tied_dir, computing, lora):  # noqa: F811
    batch = token_batch()
    plain = Critic(tied_dir, SETTINGS, 3, lora, seed=1)
    sharded = VerlModel("value_model", tied_dir, SETTINGS, 3, lora, seed=1, computing=computing)
    taken = gradients_taken(plain)
    (values,) = sharded.outputs(batch, ("values",))
    assert_close(values, plain.values(batch), atol=2e-6, rtol=2e-6)

    def loss(values, given):
        return ((values - 1) * given["mask"]).square().sum(), {}

    sharded.update(batch, {}, loss)
    plain.update(batch, {}, loss)
    assert_close(sharded.gradients, taken[0], atol=5e-5, rtol=1e-4)


def test_half_precision_rounds_alike(model_dir):  # noqa: F811
    batch, computing = token_batch(), Computing(dtype="bfloat16")
    plain = Policy(model_dir, SETTINGS, 3, computing=computing).log_probs(batch)[0]
    sharded = VerlModel("language_model", model_dir, SETTINGS, 3, computing=computing)
    (said,) = sharded.outputs(batch, ("log_probs",))
    exact = Policy(model_dir, SETTINGS, 3).log_probs(batch)[0]
    rounding = (plain - exact).abs().max()
    assert 1e-4 < rounding < 0.2
    assert (plain - said).abs().max() < rounding


@pytest.mark.parametrize("packing", [True, False])
def test_a_longer_row_raises_the_limit_of_all(model_dir, packing):  # noqa: F811
    batch = token_batch()
    model = VerlModel("language_model", model_dir, None, 3, computing=Computing(4, packing=packing))
    shapes = computed_at_once(model)
    model.outputs(batch, ("log_probs",))
    lengths = [max(1, int(length)) for length in batch.attention.sum(1)]
    longest = max(lengths)
    assert longest > 4
    # As few packed parts as fit the longest one, where four tokens each would be more; padded ones
    # have a row each.
    assert len(shapes) == (-(-sum(lengths) // longest) if packing else len(lengths))
    assert max(tokens for _, tokens in shapes) == longest


@pytest.mark.parametrize("kind", ["language_model", "value_model"])
def test_a_model_that_mixes_packed_rows_is_refused(model_dir, monkeypatch, kind):  # noqa: F811
    """Stands for layers that carry a state over the end of a row."""
    monkeypatch.setattr("transformers.masking_utils.find_packed_sequence_indices", lambda _: None)
    said = "^models of the type 'qwen2' mix rows that are packed into one; set cluster.packing=off$"
    with pytest.raises(UserError, match=said):
        VerlModel(kind, model_dir, SETTINGS, 3, computing=LAYOUTS[-1])
