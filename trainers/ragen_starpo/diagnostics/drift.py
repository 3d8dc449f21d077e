"""Warns of metrics that rise without a gain in reward, and of lost held-out success.

These warnings change nothing in a run: `stop` and `adapt` answer the echo trap alone, and a higher
temperature does not mend a rising entropy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ragen_starpo.diagnostics.levels import MovingMedian, finite
from ragen_starpo.diagnostics.monitor import TrapWarning

_REWARD, _HELD_OUT = "rollout/reward", "val/success"
_NOISE = 3.0
"""Minimum rise of a metric, as a multiple of its noise."""
_LOST = 0.35
"""Fraction of the best held-out success that is lost."""
_POINTS = 0.05
"""Minimum loss of held-out success."""


@dataclass(frozen=True)
class Bound:
    """A rise to warn of.

    Attributes:
        name: The metric in words.
        advice: What to do about it.
        share: Minimum rise, as a fraction of the highest level before the lowest one.
        least: Minimum rise.
        is_bad: Whether a rise counts although the reward has risen too.
    """

    name: str
    advice: str
    share: float = 0.0
    least: float = 0.0
    is_bad: bool = False


BOUNDS = {
    "policy/entropy": Bound(
        "the entropy", "lower optimiser.learning_rate or loss.entropy", share=0.35
    ),
    "rollout/answer_tokens": Bound(
        "the length of an answer in tokens", "read recorded rollouts", share=0.5
    ),
    "rollout/cut": Bound(
        "the fraction of answers cut at rollouts.max_tokens",
        "raise rollouts.max_tokens or set shaping.overlong_buffer",
        least=0.1,
        is_bad=True,
    ),
}
"""The rises to warn of, by metric."""


class DriftMonitor:
    """Watches a run's metrics, one iteration at a time, for what the echo trap's monitor does not.

    Args:
        window: Iterations of a moving median.
        start: Held-out metrics of the initial model.
        bounds: The rises to warn of, by metric.
    """

    def __init__(
        self, window: int, start: Mapping[str, float], bounds: Mapping[str, Bound] = BOUNDS
    ) -> None:
        self._reward = MovingMedian(window)
        self._rises = {name: _Rise(window, bound) for name, bound in bounds.items()}
        self._held_out = _HeldOut()
        self._held_out.take("the model that training began with", start)

    def take(self, line: Mapping[str, float]) -> list[TrapWarning]:
        """Return the warnings of a line of `metrics.jsonl`."""
        number = int(line["iteration"])
        self._reward.take(finite(line.get(_REWARD)))
        warnings = []
        for name, rise in self._rises.items():
            if found := rise.take(finite(line.get(name)), self._reward):
                signals, text = found
                warnings.append((f"iteration {number}: {text}", {name: signals}))
        if lost := self._held_out.take(f"iteration {number}", line):
            signals, text = lost
            warnings.append((f"iteration {number}: {text}", {_HELD_OUT: signals}))
        return [
            TrapWarning(number, "drift", signals, f"Warning in {text}.")
            for text, signals in warnings
        ]


def find_drift(
    metrics: Iterable[Mapping[str, float]], start: Mapping[str, float], window: int
) -> list[TrapWarning]:
    """Return the warnings of a run's lines of `metrics.jsonl`."""
    monitor = DriftMonitor(window, start)
    return [warning for line in metrics for warning in monitor.take(line)]


class _Rise:
    """Detects a rise of a metric above its lowest level, until half of it is gone."""

    def __init__(self, window: int, bound: Bound) -> None:
        self._bound = bound
        self._metric = MovingMedian(window)
        self._lowest, self._highest, self._reward = math.inf, -math.inf, math.nan
        self._top = -math.inf
        self._current: dict[str, float] | None = None

    def take(
        self, value: float | None, reward: MovingMedian
    ) -> tuple[dict[str, float], str] | None:
        """Return the values and a description if the metric has risen in this iteration."""
        self._metric.take(value)
        if value is None or not self._metric.levels:
            return None
        level, bound = self._metric.levels[-1], self._bound
        gained = reward.levels[-1] if reward.levels else math.nan
        self._top = max(self._top, level)
        if level <= self._lowest:
            self._lowest, self._highest, self._reward = level, self._top, gained
        elif math.isnan(self._reward):  # the reward's window was filled later
            self._reward = gained
        if self._current is not None:
            if level <= (self._current["before"] + self._current["level"]) / 2:
                self._current = None
            return None
        minimum = max(bound.least, bound.share * self._highest, _NOISE * self._metric.noise)
        has_gained = gained > self._reward
        if minimum <= 0 or level - self._lowest < minimum or (has_gained and not bound.is_bad):
            return None
        self._current = {"level": level, "before": self._lowest}
        text = f"{bound.name} rose from {self._lowest:.3g} to {level:.3g}"
        if not has_gained and math.isfinite(self._reward):
            text += f", and the reward did not rise ({self._reward:.3g}, now {gained:.3g})"
        return self._current, f"{text}; {bound.advice}"


class _HeldOut:
    """Compares held-out success with its best so far, until half of a loss is gained back."""

    def __init__(self) -> None:
        self._best, self._margin, self._place = -math.inf, 0.0, ""
        self._current: float | None = None

    def take(self, place: str, line: Mapping[str, float]) -> tuple[dict[str, float], str] | None:
        """Return the values and a description if success is far below its best."""
        success = finite(line.get(_HELD_OUT))
        if success is None:
            return None
        margin = _margin(line)
        if success > self._best:
            self._best, self._margin, self._place, self._current = success, margin, place, None
            return None
        if self._current is not None:
            if success >= (self._best + self._current) / 2:
                self._current = None
            return None
        lost = self._best - success
        if lost < max(_LOST * self._best, _POINTS):
            return None
        self._current = success
        text = f"held-out success is {success:.1%}, {100 * lost:.1f} points below its best of "
        text += f"{self._best:.1%} ({self._place}); best/ has that model"
        if lost <= math.hypot(margin, self._margin):
            text += ". Chance alone may explain it: raise validation.instances"
        return {"level": success, "peak": self._best}, text.replace("%", " %")


def _margin(line: Mapping[str, float]) -> float:
    """Return the half width of the 95 % interval of held-out success, the mean of environments."""
    ends = [
        (value, line.get(name.removesuffix("low") + "high", math.nan))
        for name, value in line.items()
        if name.startswith("val/") and name.endswith("/low")
    ]
    return math.hypot(*((high - low) / 2 for low, high in ends)) / len(ends) if ends else 0.0
