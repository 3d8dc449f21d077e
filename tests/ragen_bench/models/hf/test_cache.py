"""Rows of keys and values: growing keeps what they hold."""

import torch

from ragen_bench.models.hf.cache import RowCache


def test_rows_that_are_there_already_are_not_copied():
    cache = RowCache(2)
    held = torch.arange(8.0).view(2, 1, 4, 1), torch.ones(2, 1, 4, 1)
    cache._layers[0] = held
    for rows in (1, 2):
        cache.grow(rows)
        assert cache._layers[0] is held
    cache.grow(3)
    for before, after in zip(held, cache._layers[0], strict=True):
        assert after.shape == (3, 1, 4, 1)
        assert torch.equal(after[:2], before)
