"""Rows of verl, and batches that are filled up for it."""

from math import ceil

import torch
from hypothesis import given
from hypothesis import strategies as st

from ragen_starpo.cluster.learner import deal_rows, divide_rows, responses_of
from ragen_starpo.cluster.rows import Limit
from ragen_starpo.rollout.trajectory import Sampled, TokenTrajectory, Turn, batch_of


@given(st.integers(1, 200), st.integers(1, 9), st.integers(1, 40))
def test_batches_are_divide_rows_to_equal_micro_batches(rows, ranks, largest):
    size, extra = divide_rows(rows, ranks, Limit(largest))
    assert 1 <= size <= largest
    assert extra >= 0
    each, rest = divmod(rows + extra, ranks)
    assert rest == 0
    assert each % size == 0
    # No rank has a micro-batch more than the rows of the fullest rank need.
    assert each // size == ceil(ceil(rows / ranks) / largest)
    # By tokens, ranks get as many rows, and that is all.
    assert divide_rows(rows, ranks, Limit(largest, 9)) == (ceil(rows / ranks), -rows % ranks)


@given(st.lists(st.integers(1, 9), min_size=2, max_size=9), st.integers(1, 3))
def test_ranks_get_rows_of_like_length_in_order(lengths, ranks):
    rows = list(range(len(lengths) // ranks * ranks))[::-1]
    dealt = deal_rows(rows, lengths, ranks)
    assert sorted(dealt) == sorted(rows)
    size = len(rows) // ranks
    starts = range(0, len(rows), size or 1)
    parts = [[lengths[row] for row in dealt[start : start + size]] for start in starts]
    assert all(part == sorted(part, reverse=True) for part in parts)
    # No rank has longer rows than another one by more than the longest row.
    totals = [sum(part) for part in parts] or [0]
    assert max(totals) - min(totals) <= max(lengths)


@st.composite
def trajectories(draw):
    layouts = draw(
        st.lists(
            st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=3),
            min_size=1,
            max_size=4,
        )
    )
    count, split = iter(range(1, 1000)), draw(st.booleans())
    return [
        TokenTrajectory(
            row,
            tuple(
                Turn(
                    tuple(next(count) for _ in range(seen)),
                    Sampled(tuple(next(count) for _ in range(said)), (-1.0,) * said, True),
                    0.0,
                )
                for seen, said in layout
            ),
            {},
            split,
        )
        for row, layout in enumerate(layouts)
    ]


@given(trajectories(), st.integers(0, 2))
def test_columns_reach_verls_rows_and_come_back(played, fillers):
    batch, responses = batch_of(played, 0), responses_of(played)
    rows = responses.rows({"ids": batch.ids.float()}, fillers)["ids"].unbind()
    sequences = [one for trajectory in played for one in trajectory.sequences]
    assert len(rows) == len(sequences) + fillers
    for row, one in zip(rows, sequences, strict=False):
        assert row.tolist() == one.ids[len(one.turns[0].observed) :]
    assert all(row.tolist() == [0.0] for row in rows[len(sequences) :])
    # An engine that says of the token t + 1, at the position t, its id.
    said = [torch.tensor([*one.ids[1:], -1.0]) for one in sequences] + [torch.ones(5)] * fillers
    found = responses.column(torch.nested.as_nested_tensor(said, layout=torch.jagged), batch)
    assert torch.equal(found, batch.ids.float() * batch.mask)
