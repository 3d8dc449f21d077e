"""The figures of an iteration, from those of its steps: the same for every driver."""

from __future__ import annotations

import math
from collections.abc import Mapping

_OF_STEPS = ("loss", "grad_norm", "lr")
"""Figures that are of a step, whatever its tokens; all others are means over its tokens."""


class StepFigures:
    """Averages the figures of steps.

    Those of tokens are weighted by tokens, so that they are the means over all that is learned
    from; those of steps count alike. What is not finite is in no mean: a step whose gradient is not
    finite is not taken, and one of them would make the mean of all others nothing.
    """

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._weights: dict[str, float] = {}
        self._skipped: dict[str, int] = {}

    def add(self, figures: Mapping[str, float], tokens: int) -> None:
        """Count a step.

        Args:
            figures: by `MODEL/NAME`.
            tokens: sampled ones that it learned from.
        """
        for name, value in figures.items():
            model, _, kind = name.partition("/")
            if kind == "grad_norm":
                skipped = f"{model}/skipped_steps"
                self._skipped[skipped] = self._skipped.get(skipped, 0) + (not math.isfinite(value))
            if math.isfinite(value):
                weight = 1 if kind in _OF_STEPS else tokens
                self._sums[name] = self._sums.get(name, 0.0) + value * weight
                self._weights[name] = self._weights.get(name, 0) + weight

    def means(self) -> dict[str, float]:
        """Return the means, and by `MODEL/skipped_steps` how many steps were not taken.

        A figure that was finite in no step is left out.
        """
        return {name: total / self._weights[name] for name, total in self._sums.items()} | {
            name: float(count) for name, count in self._skipped.items()
        }
