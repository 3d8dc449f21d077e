"""Rows of keys and values: growing keeps what they hold, and many are copied at once."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

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


class Operations(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


def test_rows_are_copied_as_they_were_by_as_many_operations_for_any_number():
    counts = []
    for sources in ({0: 1, 2: 1}, {0: 1, 1: 0, 3: 0, 4: 1, 5: 5}):
        cache = RowCache(6)
        cache.copy(sources, 3)  # of nothing yet
        held = [torch.rand(6, 2, 4, 1) for _ in range(4)]
        cache._layers = {n: tuple(one.clone() for one in held[n : n + 2]) for n in (0, 2)}
        with Operations() as operations:
            cache.copy(sources, 3)
        counts.append(operations.count)
        after = [one for layer in cache._layers.values() for one in layer]
        for before, now in zip(held, after, strict=True):
            assert torch.equal(now[:, :, 3], before[:, :, 3])
            for row in range(6):
                assert torch.equal(now[row, :, :3], before[sources.get(row, row), :, :3])
    assert counts[0] == counts[1]
