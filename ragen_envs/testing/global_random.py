"""The global random generators of `random` and `numpy.random`, saved and restored as one state."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np


class GlobalRandom(NamedTuple):
    """A state of the module `random` and of NumPy's legacy `numpy.random`."""

    python: tuple[object, ...]
    numpy: dict[str, Any]

    @classmethod
    def now(cls) -> GlobalRandom:
        """Return the present state."""
        return cls(random.getstate(), np.random.get_state(legacy=False))

    def install(self) -> None:
        """Make this the present state."""
        random.setstate(self.python)
        np.random.set_state(self.numpy)

    def changes(self, later: GlobalRandom) -> tuple[str, ...]:
        """Return the names of the modules whose state differs in another."""
        python = () if self.python == later.python else ("random",)
        before, after = (
            {**state, "state": {**state["state"], "key": state["state"]["key"].tobytes()}}
            for state in (self.numpy, later.numpy)
        )
        return python if before == after else (*python, "numpy.random")


_FAR = 0x9E3779B9
"""Added to a seed, so that it differs from seeds that environments use themselves."""


@lru_cache(maxsize=16)
def make_state(seed: int) -> GlobalRandom:
    """Return one of many states of both modules."""
    seed += _FAR
    return GlobalRandom(
        random.Random(seed).getstate(), np.random.RandomState(seed).get_state(legacy=False)
    )


class _Stage:
    """Whether a check is running, and the state that it installed last."""

    running = False
    present: GlobalRandom | None = None


@contextmanager
def stage() -> Iterator[None]:
    """Restore the current state at the end only, since restoring it after each call is slow."""
    outside = GlobalRandom.now()
    _Stage.running, _Stage.present = True, None
    try:
        yield
    finally:
        _Stage.running = False
        outside.install()


@contextmanager
def on_stage(state: GlobalRandom) -> Iterator[Callable[[], GlobalRandom]]:
    """Install a state for a call; yield a function that returns the state after the call."""
    outside = None if _Stage.running else GlobalRandom.now()
    if outside or _Stage.present is not state:
        state.install()

    def after() -> GlobalRandom:
        left = GlobalRandom.now()
        _Stage.present = left if state.changes(left) else state
        return _Stage.present

    try:
        yield after
    finally:
        if outside:
            outside.install()


@contextmanager
def borrow(state: GlobalRandom) -> Iterator[None]:
    """Install a state, and restore the previous one at the end."""
    outside = GlobalRandom.now()
    state.install()
    try:
        yield
    finally:
        outside.install()
