"""Moving medians of a metric and its noise, which the monitors compare."""

from __future__ import annotations

import math
from bisect import insort
from collections import deque
from statistics import median


class MovingMedian:
    """A metric's values and the distances of successive values, sorted, and its moving medians."""

    def __init__(self, window: int) -> None:
        self._last: deque[float] = deque(maxlen=window)
        self.values: list[float] = []
        self.levels: list[float] = []
        self.steps: list[float] = []

    def take(self, value: float | None) -> None:
        """Add a value; None is skipped."""
        if value is None:
            return
        if self._last:
            insort(self.steps, abs(value - self._last[-1]))
        insort(self.values, value)
        self._last.append(value)
        if len(self._last) == self._last.maxlen:
            self.levels.append(median(self._last))

    @property
    def noise(self) -> float:
        """The 80 % quantile of a value's noise, from the steps between values.

        A step is the difference of two values, so its noise is larger by the square root of 2. The
        metric's trend within an iteration is negligible.
        """
        steps = self.steps
        return steps[(4 * len(steps) - 1) // 5] / math.sqrt(2) if steps else 0.0


def finite(value: float | None) -> float | None:
    """Return the value, or None if it is missing or not finite."""
    return value if value is not None and math.isfinite(value) else None
