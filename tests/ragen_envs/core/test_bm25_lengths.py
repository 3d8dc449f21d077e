import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragen_envs.core.bm25 import kept_length, kept_lengths

TABLE = sorted({kept_length(length) for length in range(70_000)})


def test_the_table_of_a_byte():
    """The values that Lucene's documents can have: 24 + m * 2**e, m of four bits."""
    by_hand = set(range(24))
    by_hand |= {24 + m for m in range(16)}
    by_hand |= {24 + (m << e) for m in range(8, 16) for e in range(1, 20)}
    assert sorted(value for value in by_hand if value < 65_000) == [v for v in TABLE if v < 65_000]


@pytest.mark.parametrize(
    ("length", "kept"),
    [(0, 0), (39, 39), (40, 40), (41, 40), (55, 54), (56, 56), (59, 56), (100, 96), (1000, 984)],
)
def test_known_lengths(length, kept):
    assert kept_length(length) == kept


@given(st.lists(st.integers(0, 10**6), min_size=1))
def test_lengths_are_rounded_down_to_the_table(lengths):
    kept = kept_lengths(np.array(lengths))
    assert kept.tolist() == [kept_length(length) for length in lengths]
    for length, less in zip(lengths, kept, strict=True):
        assert less <= length < less + max(1, less / 8)
        assert kept_length(int(less)) == less
