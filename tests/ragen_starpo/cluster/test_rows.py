from functools import partial
from math import ceil

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from tensordict import TensorDict
from verl.trainer.ppo.core_algos import agg_loss

from ragen_starpo.algorithms.aggregation import token_weights
from ragen_starpo.algorithms.registry import AGGREGATIONS
from ragen_starpo.cluster import passes, rows
from tests.ragen_starpo.engine.batches import columns, token_batch

pytestmark = pytest.mark.slow


@given(st.integers(1, 300), st.integers(1, 40))
def test_micro_batches_are_as_few_as_can_be_and_the_last_one_has_a_row(count, largest):
    size, extra = rows.micro_batches(count, largest)
    assert size <= largest
    assert (count + extra) % size == 0
    assert (count + extra) // size == ceil(count / largest)
    assert 0 <= extra < min(size, ceil(count / largest)) or extra == 0


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(0, 3))
def test_outputs_move_to_the_token_that_they_speak_of(lengths, padding):
    width = max(lengths) + padding
    said = [torch.arange(n) + 100.0 * row + 1 for row, n in enumerate(lengths)]
    found = rows.align_output(torch.nested.as_nested_tensor(said, layout=torch.jagged), width)
    assert found.shape == (len(lengths), width)
    for row, n in enumerate(lengths):
        assert found[row, 1:n].tolist() == [100.0 * row + 1 + t for t in range(n - 1)]
        assert found[row, 0] == 0


@given(st.integers(1, 9))
def test_rows_come_back_as_they_went(largest):
    batch = token_batch()
    given_columns = {**columns(batch), "scores": batch.scores}
    data = rows.to_verl(batch, given_columns, largest, 1.0)
    assert len(data) % data["micro_batch_size_per_gpu"] == 0
    found = passes.read_model_rows(data, packed=False).columns
    assert set(found) == {"mask", "advantages", "old_log_probs", "scores"}
    assert all(torch.equal(found[name], column) for name, column in given_columns.items())
    for row, ids in enumerate(data["input_ids"].unbind()[: len(batch)]):
        kept = batch.ids[row][batch.attention[row].bool()]
        assert torch.equal(ids, kept if len(kept) else batch.ids[row, :1])


@given(st.integers(1, 6), st.integers(1, 7), st.integers(0, 2**31), st.sampled_from([5, 40]))
def test_weights_of_rows_add_up_to_verls_aggregate_of_all(height, width, seed, horizon):
    noise = torch.Generator().manual_seed(seed)
    mask = torch.randint(0, 2, (height, width), generator=noise)
    assume(mask.any())
    losses = torch.randn(mask.shape, generator=noise)
    for how in AGGREGATIONS:
        weights = token_weights(mask, how, horizon)
        parts = [(row * weight).sum() for row, weight in zip(losses, weights, strict=True)]
        theirs = agg_loss(losses, mask, how, loss_scale_factor=horizon)
        torch.testing.assert_close(sum(parts), theirs)


def test_aggregates_by_hand():
    losses = torch.tensor([[1.0, 2.0, 9.0, 3.0], [4.0, 9.0, 9.0, 9.0], [9.0] * 4])
    mask = torch.tensor([[1, 1, 0, 1], [1, 0, 0, 0], [0] * 4])
    found = {how: float((losses * token_weights(mask, how, 4)).sum()) for how in AGGREGATIONS}
    assert found == {
        "token-mean": 2.5,
        "seq-mean-token-sum": 5.0,
        "seq-mean-token-mean": 3.0,
        "seq-mean-token-sum-norm": 1.25,
    }


@given(
    st.lists(st.integers(0, 3), min_size=1, max_size=7), st.integers(1, 7), st.integers(0, 2**31)
)
def test_a_trajectory_weighs_the_same_however_it_is_split(owners, width, seed):
    """verl's aggregate of the same tokens, all of a trajectory in one row."""
    noise = torch.Generator().manual_seed(seed)
    mask = torch.randint(0, 2, (len(owners), width), generator=noise)
    assume(mask.any())
    losses = torch.randn(mask.shape, generator=noise)
    of = torch.tensor(owners)
    rows = [(of == one).nonzero().flatten() for one in of.unique()]
    whole, kinds = (
        torch.nn.utils.rnn.pad_sequence([column[own].flatten() for own in rows], batch_first=True)
        for column in (losses, mask)
    )
    for how in AGGREGATIONS:
        found = (losses * token_weights(mask, how, 40, of)).sum()
        torch.testing.assert_close(found, agg_loss(whole, kinds, how, loss_scale_factor=40))


def test_without_a_sampled_token_nothing_counts():
    for how in AGGREGATIONS:
        assert not token_weights(torch.zeros(2, 3), how, 4).any()


def test_an_unknown_aggregation_is_refused():
    with pytest.raises(ValueError, match="seq-mean-token-sum-norm"):
        token_weights(torch.ones(1, 1), "mean")
    with pytest.raises(ValueError, match="seq-mean-token-sum-norm needs a horizon"):
        token_weights(torch.ones(1, 1), "seq-mean-token-sum-norm")


@given(st.integers(1, 6), st.integers(1, 7), st.integers(1, 20))
def test_padding_changes_no_weight(height, width, more):
    mask = torch.ones(height, width, dtype=torch.int64)
    padded = torch.cat([mask, mask.new_zeros(height, more)], 1)
    for how in AGGREGATIONS:
        found = token_weights(padded, how, 50)
        assert torch.equal(found[:, :width], token_weights(mask, how, 50))
        assert not found[:, width:].any()


@pytest.mark.parametrize("queued", [True, False])
@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("packed", [True, False])
def test_places_are_those_before_sampled_tokens(queued, alike, packed):
    """Rows of the queue have columns of their responses; rows of a batch have whole ones."""
    masks = [[0, 0, 1, 0], [1, 0, 1, 1] if alike else [1, 0, 1, 1, 1]]
    tensors = [torch.tensor(mask) for mask in masks]
    count, width = sum(map(len, masks)), max(map(len, masks))
    starts = [0, len(masks[0])]
    jagged = partial(torch.nested.as_nested_tensor, layout=torch.jagged)
    data = {
        "input_ids": jagged(
            [
                torch.arange(10, 10 + count)[at:][: len(m)]
                for at, m in zip(starts, masks, strict=True)
            ]
        ),
        "position_ids": jagged([torch.arange(len(mask)) for mask in masks]),
    }
    if queued:
        responses = [row[1:] for row in tensors]
        own = torch.stack(responses) if alike else jagged(responses)
        data |= {
            "prompts": torch.zeros(2, 1, dtype=torch.int64),
            "loss_mask": own,
            "twice": 2 * own,
        }
    else:
        whole = jagged(tensors).to_padded_tensor(0)
        data |= {"loss_mask": whole, "real": torch.tensor([True, True])}
        data |= {"column:mask": whole, "column:twice": 2 * whole}
    found = passes.read_model_rows(TensorDict(data, batch_size=[2]), packed=packed)
    sampled = [
        (row, at) for row, mask in enumerate(masks) for at in range(1, len(mask)) if mask[at]
    ]
    assert found.in_rows.tolist() == [starts[row] + at - 1 for row, at in sampled]
    assert found.labels.tolist() == [10 + starts[row] + at for row, at in sampled]
    flat = found.inputs["input_ids"].flatten()
    assert (flat[found.places] + 1).tolist() == found.labels.tolist()
    assert found.inputs["input_ids"].shape == ((1, count) if packed else (2, width))
    # A sampled first token has no place, so it has no value.
    spread = found.spread_on_columns(torch.full((len(sampled),), 2.0))
    expected = found.columns["twice"].float()
    if not queued:
        expected[1, 0] = 0
    assert torch.equal(spread, expected)
