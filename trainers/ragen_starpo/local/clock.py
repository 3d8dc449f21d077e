"""A clock that adds up the seconds of an iteration's phases."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


class Clock:
    """Adds up the seconds of phases.

    Attributes:
        seconds: by the name of the phase.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def during(self, phase: str, work: Callable[[], Result]) -> Result:
        """Return what the work returns, and count its time."""
        start = time.perf_counter()
        try:
            return work()
        finally:
            taken = time.perf_counter() - start
            self.seconds[phase] = self.seconds.get(phase, 0.0) + taken
