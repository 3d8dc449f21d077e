"""Warns of the echo trap: rollouts that become alike, then a reward that stagnates (RAGEN).

RAGEN (arXiv 2504.20073) observes, in this order: the standard deviation of returns in a group and
the entropy fall, the reward stagnates or falls, the gradient norm grows. RAGEN-2 (arXiv 2604.06268)
adds that thoughts may stop depending on the context while their entropy stays.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal, TypeAlias

from ragen_starpo.recipes.sections import MonitorSettings

Signals: TypeAlias = dict[str, dict[str, float]]

_REWARD, _GRADIENT = "rollout/reward", "policy/grad_norm"
_SKIPPED = "policy/skipped_steps"
_NAMES = {
    "rollout/reward_deviation": "the reward deviation in groups",
    "policy/entropy": "the entropy",
    "thoughts/information_share": "the information share of thoughts",
    _REWARD: "the reward",
}
_NOISE = {
    "rollout/reward_deviation": 3.0,
    "policy/entropy": 2.5,
    "thoughts/information_share": 3.0,
    _REWARD: 3.0,
}
"""Minimum fall of a metric, as a multiple of its noise. Few groups make deviation and reward noisy,
and entropy is the mean of thousands of tokens. The values were set on runs of
`benchmarks/echo_trap.py`. That of the information share is the deviation's, since it is measured on
few thoughts; no run has tested it yet. Information in nats is not watched, since its upper bound
depends on the number of contexts: in shorter episodes more thoughts are of first turns, whose
prompts are equal."""


@dataclass(frozen=True)
class TrapWarning:
    """A warning.

    Attributes:
        iteration: Number of the iteration, from 0.
        kind: `early`, or `confirmed`, which follows an early warning.
        signals: By metric, its `level` and the values it is compared with.
        text: The same in one sentence, and a second one about the changes.
        changes: Changes of the recipe's settings from the next iteration, `from` and `to` by name.
    """

    iteration: int
    kind: Literal["early", "confirmed"]
    signals: Signals
    text: str
    changes: dict[str, dict[str, float]] = field(default_factory=dict)


class EchoTrapMonitor:
    """Watches a run's metrics, one iteration at a time.

    Its state depends only on the lines of `metrics.jsonl`, so a resumed run restores it from them.

    Args:
        settings: Monitor settings of the recipe.
    """

    def __init__(self, settings: MonitorSettings) -> None:
        self._settings = settings
        self._first, self._later = _Watch(settings), _Watch(settings)
        self._pending: Signals = {}
        self._since: int | None = None
        self._last = 0
        self._confirmed = False

    def take(self, line: Mapping[str, Any]) -> list[TrapWarning]:
        """Return the warnings of an iteration: none, an early one, a confirmed one, or both.

        Args:
            line: Line of `metrics.jsonl`. Missing metrics, as the entropy of an iteration without
                an update, and values that are not finite are skipped. If no step had a finite
                gradient, its norm counts as infinite.
        """
        number = int(line["iteration"])
        fallen = {**self._falls_at_first(number, line), **self._falls_after_warm_up(number, line)}
        early = self._early_warning(number, fallen)
        return [warning for warning in (early, self._confirmation(number)) if warning is not None]

    def _falls_at_first(self, number: int, line: Mapping[str, Any]) -> Signals:
        """Return falls during the first iterations, until later ones have a level.

        A policy that learns the response format loses entropy and gains reward. That is no warning,
        unless the reward is lost again while the fall lasts.
        """
        if number >= self._settings.warm_up + self._settings.window:
            self._first = _Watch(self._settings)  # forget its falls
            return {}
        fallen = {**self._pending, **self._first.take(line)}
        lasting = {name: new for name, new in fallen.items() if self._first.falls[name].current}
        self._pending = lasting if self._first.has_gained_reward else {}
        return {} if self._first.has_gained_reward else lasting

    def _falls_after_warm_up(self, number: int, line: Mapping[str, Any]) -> Signals:
        return self._later.take(line) if number >= self._settings.warm_up else {}

    def _early_warning(self, number: int, fallen: Signals) -> TrapWarning | None:
        if self._first.has_fallen or self._later.has_fallen:
            self._last = number
        elif number > self._last + self._settings.patience:
            # Wait, since the entropy of a collapsing model may rise for a moment.
            self._since, self._confirmed = None, False
        if not fallen:
            return None
        if self._since is None:
            self._since = number
        return TrapWarning(
            number,
            "early",
            fallen,
            f"Early warning in iteration {number}: {self._describe(fallen)}.",
        )

    def _confirmation(self, number: int) -> TrapWarning | None:
        if self._since is None or self._confirmed:
            return None
        fallen = self._first.reward.current or self._later.reward.current
        confirmation: tuple[Signals, str] | None
        if fallen:
            confirmation = {_REWARD: fallen}, self._describe({_REWARD: fallen})
        else:
            confirmation = self._later.find_risen_gradient()
        if confirmation is None:
            return None
        self._confirmed = True
        signals, reason = confirmation
        text = f"Confirmed in iteration {number}, after the early warning of iteration "
        return TrapWarning(number, "confirmed", signals, f"{text}{self._since}: {reason}.")

    def _describe(self, fallen: Signals) -> str:
        falls = " and ".join(
            f"{_NAMES[name]} fell from {new['before']:.3g} to {new['level']:.3g} "
            f"(its peak was {new['peak']:.3g})"
            for name, new in fallen.items()
        )
        return f"within {self._settings.patience} iterations {falls}"


class _Watch:
    """The watched metrics over some iterations.

    Attributes:
        falls: Detectors of the early signals, by name.
        reward: Detector of a falling reward.
    """

    def __init__(self, settings: MonitorSettings) -> None:
        self._settings = settings
        self.falls = {name: _Fall(settings, _NOISE[name]) for name in _NAMES if name != _REWARD}
        self.reward = _Fall(settings, _NOISE[_REWARD])
        self._gradient = _MovingMedian(settings.window)

    def take(self, line: Mapping[str, Any]) -> Signals:
        """Return the early signals that have fallen in this iteration."""
        fallen = {name: fall.take(_finite(line.get(name))) for name, fall in self.falls.items()}
        self.reward.take(_finite(line.get(_REWARD)))
        self._gradient.take(_norm(line))
        return {name: new for name, new in fallen.items() if new is not None}

    @property
    def has_fallen(self) -> bool:
        """Whether the fall of an early signal lasts."""
        return any(fall.current for fall in self.falls.values())

    @property
    def has_gained_reward(self) -> bool:
        """Whether the reward is higher than at first."""
        levels = self.reward.metric.levels
        return bool(levels) and levels[-1] > levels[0]

    def find_risen_gradient(self) -> tuple[Signals, str] | None:
        """Return signals and a description if the gradient is large and the reward stagnates."""
        patience, times = self._settings.patience, self._settings.gradient
        rewards, norms = self.reward.metric.levels, self._gradient.levels
        if len(rewards) <= patience or not norms:
            return None
        level, before, usual = rewards[-1], rewards[-1 - patience], median(self._gradient.values)
        if level > before or norms[-1] <= times * usual:
            return None
        signals = {
            _REWARD: {"level": level, "before": before},
            _GRADIENT: {"level": norms[-1], "median": usual},
        }
        return signals, (
            f"the reward is {level:.3g} ({patience} iterations before it was {before:.3g}) and the "
            f"gradient norm is {norms[-1]:.3g}, more than {times:g} times its median of {usual:.3g}"
        )


class _MovingMedian:
    """A metric and its moving median.

    Attributes:
        values: All values, sorted.
        levels: Medians of `window` values in a row.
        steps: Distances of successive values, sorted.
    """

    def __init__(self, window: int) -> None:
        self._last: deque[float] = deque(maxlen=window)
        self.values: list[float] = []
        self.levels: list[float] = []
        self.steps: list[float] = []

    def take(self, value: float | None) -> None:
        if value is None:
            return
        if self._last:
            insort(self.steps, abs(value - self._last[-1]))
        insort(self.values, value)
        self._last.append(value)
        if len(self._last) == self._last.maxlen:
            self.levels.append(median(self._last))


class _Fall:
    """Detects that a metric has quickly lost a fraction of its peak.

    Args:
        settings: Settings of the monitor.
        noise: Minimum loss as a multiple of the noise.

    Attributes:
        metric: The metric's moving median.
        current: Level, level before and peak of a lasting fall. It ends when half of the loss is
            recovered, so that noise at the threshold causes a single warning.
    """

    def __init__(self, settings: MonitorSettings, noise: float) -> None:
        self._settings, self._noise = settings, noise
        self.metric = _MovingMedian(settings.window)
        self.current: dict[str, float] | None = None

    def take(self, value: float | None) -> dict[str, float] | None:
        """Return level, level before and peak if the metric has fallen in this iteration."""
        self.metric.take(value)
        levels = self.metric.levels
        if not levels:
            return None
        level, peak = levels[-1], max(levels)
        if self.current is not None:
            if level >= (self.current["before"] + self.current["level"]) / 2:
                self.current = None
            return None
        before = max(levels[-1 - self._settings.patience :])
        # A fraction of the overall peak: a steady decline loses little of it at a time.
        minimum = max(self._settings.fall * peak, self._noise * _noise(self.metric.steps))
        # A metric that is mostly 0, as if no rollout succeeds, cannot fall.
        if median(self.metric.values) <= 0 or before - level < minimum:
            return None
        self.current = {"level": level, "before": before, "peak": peak}
        return self.current


def _noise(steps: list[float]) -> float:
    """Return the 80 % quantile of a value's noise, from the sorted steps between values.

    A step is the difference of two values, so its noise is larger by the square root of 2. The
    metric's trend within an iteration is negligible.
    """
    return steps[(4 * len(steps) - 1) // 5] / math.sqrt(2) if steps else 0.0


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _norm(line: Mapping[str, Any]) -> float | None:
    """Return the gradient norm; infinite if no step had a finite one."""
    norm = _finite(line.get(_GRADIENT))
    return math.inf if norm is None and line.get(_SKIPPED) else norm
