"""Growth of a cost, where the work is done in C and cannot be counted: CPU time at n and at 8 n."""

import gc
import time

MORE = 8
LINEAR = 3 * MORE
"""A generous bound on the growth of a linear cost; a quadratic one grows 64 times."""
_LEAST_SECONDS = 0.002
"""A shorter time is too uncertain for a ratio."""
_LARGEST = 1 << 17


def growth(do, make, size=256):
    """Return how much more CPU time is used for input of 8 times the size.

    The size is doubled until the time can be told. An input that takes none at 131,072 has a
    growth of 0.

    Args:
        do: what is measured, called with the input.
        make: from a size to an input of it; not measured.
        size: the first one that is tried.
    """
    while (first := _seconds(do, make(size))) < _LEAST_SECONDS:
        if size >= _LARGEST:
            return 0
        size *= 2
    small, large = make(size), make(MORE * size)
    first = min(first, _seconds(do, small), _seconds(do, small))
    # The machine does other things too, which only ever adds: the first quiet time decides.
    ratios = (_seconds(do, large) / first for _ in range(8))
    return next((ratio for ratio in ratios if ratio < LINEAR), float("inf"))


def _seconds(do, argument):
    # A collection of garbage takes as long as the process is large.
    gc.disable()
    try:
        start = time.thread_time()
        do(argument)
        return time.thread_time() - start
    finally:
        gc.enable()
