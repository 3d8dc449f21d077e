"""Random states of games that draw from the global generators of Python and NumPy."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import numpy as np

_LOCK = RLock()


class RandomState:
    """One game's states of `random` and `numpy.random`, whose global generators games use.

    Inside `activate` the global generators continue from the game's states; afterwards the
    process's states are restored. Only one game at a time is active in a process. Another thread
    must use a generator of its own, as `random.Random`; the global ones would give it the game's
    numbers.
    """

    def __init__(self, seed: int) -> None:
        self._python = random.Random(seed).getstate()
        self._numpy = np.random.RandomState(np.random.MT19937(seed)).get_state()

    @contextmanager
    def activate(self) -> Iterator[None]:
        """Set the global generators to this game's states, and restore the process's afterwards."""
        with _LOCK:
            python, numpy = random.getstate(), np.random.get_state()
            random.setstate(self._python)
            np.random.set_state(self._numpy)
            try:
                yield
            finally:
                self._python, self._numpy = random.getstate(), np.random.get_state()
                random.setstate(python)
                np.random.set_state(numpy)
