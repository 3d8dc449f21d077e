"""Generators of its own for a game that draws from the global ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

import numpy as np

_IN_CHARGE = RLock()


class OwnRandom:
    """States of `random` and `numpy.random` that belong to one game.

    Inside `in_charge` the global generators continue where this game left them; outside they are
    as the process left them. One game at a time is in charge, whatever threads do. Another thread
    that draws from the global generators while a game is in charge draws the game's numbers: it
    should own a generator, as `random.Random` or `numpy.random.default_rng`.

    Args:
        seed: an int of at least 0.
    """

    def __init__(self, seed: int) -> None:
        self._python = random.Random(seed).getstate()
        self._numpy = np.random.RandomState(np.random.MT19937(seed)).get_state()

    @contextmanager
    def in_charge(self) -> Iterator[None]:
        """Let the global generators be this game's, and put the process's back."""
        with _IN_CHARGE:
            python, numpy = random.getstate(), np.random.get_state()
            random.setstate(self._python)
            np.random.set_state(self._numpy)
            try:
                yield
            finally:
                self._python, self._numpy = random.getstate(), np.random.get_state()
                random.setstate(python)
                np.random.set_state(numpy)
