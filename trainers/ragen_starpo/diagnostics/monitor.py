"""Warns of the echo trap: rollouts that grow alike, then a reward that stands still (RAGEN).

RAGEN (arXiv 2504.20073) sees, in this order: the deviation of returns in a group and the entropy
fall, the reward stands still or falls, the norm of the gradient grows. RAGEN-2 (arXiv 2604.06268)
adds that thoughts may cease to depend on what was read while their entropy stays.
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
"""How many times its noise a figure loses at least: few groups make deviation and reward leap, and
entropy is the mean of thousands of tokens. Set on runs of `benchmarks/echo_trap.py`, but that of
the information share: it is of few thoughts, so it has the bound of the deviation, which no run has
been held against yet. Not of the information in nats, whose bound moves with the number of
contexts: as episodes grow shorter, more thoughts are of first turns, whose prompts are equal."""


@dataclass(frozen=True)
class TrapWarning:
    """A warning.

    Attributes:
        iteration: as `metrics.jsonl` counts it, from 0 on.
        kind: `early`, or `confirmed`, which follows an early one.
        signals: what it is about: by the figure's name its `level` and what that is compared with.
        text: the same in one sentence, and what was changed in another.
        changes: of the recipe's settings from the next iteration on, by name: `from` and `to`.
    """

    iteration: int
    kind: Literal["early", "confirmed"]
    signals: Signals
    text: str
    changes: dict[str, dict[str, float]] = field(default_factory=dict)


class EchoTrapMonitor:
    """Watches a run's figures, an iteration at a time.

    What it says follows from the lines of `metrics.jsonl` alone: fed the same lines again, it is in
    the same state.

    Args:
        settings: of the recipe.
    """

    def __init__(self, settings: MonitorSettings) -> None:
        self._settings = settings
        self._first, self._later = _Watch(settings), _Watch(settings)
        self._held: Signals = {}
        self._since: int | None = None
        self._last = 0
        self._confirmed = False

    def take(self, line: Mapping[str, Any]) -> list[TrapWarning]:
        """Return the warnings of an iteration: none, an early one, a confirmed one, or both.

        Args:
            line: of `metrics.jsonl`. A figure that it lacks, as an iteration without an update has
                no entropy, is passed over, and so is one that is not a number. Where no step had a
                finite gradient, its norm is as far above its median as can be.
        """
        number = int(line["iteration"])
        early = self._early(number, {**self._at_first(number, line), **self._then(number, line)})
        return [warning for warning in (early, self._confirmed_in(number)) if warning is not None]

    def _at_first(self, number: int, line: Mapping[str, Any]) -> Signals:
        """Return what has fallen while the first iterations count, until later ones have a level.

        Who learns a form loses entropy, and gains reward by it: that is not news, unless the reward
        is gone again while what has fallen stands.
        """
        if number >= self._settings.warm_up + self._settings.window:
            self._first = _Watch(self._settings)  # what fell then stands no longer
            return {}
        fallen = {**self._held, **self._first.take(line)}
        standing = {name: new for name, new in fallen.items() if self._first.falls[name].stands}
        self._held = standing if self._first.rewarded else {}
        return {} if self._first.rewarded else standing

    def _then(self, number: int, line: Mapping[str, Any]) -> Signals:
        """Return what has fallen since the warm-up."""
        return self._later.take(line) if number >= self._settings.warm_up else {}

    def _early(self, number: int, fallen: Signals) -> TrapWarning | None:
        if self._first.stands or self._later.stands:
            self._last = number
        elif number > self._last + self._settings.patience:
            # Not at once: the entropy of a model that breaks may leap up again.
            self._since, self._confirmed = None, False
        if not fallen:
            return None
        if self._since is None:
            self._since = number
        return TrapWarning(
            number,
            "early",
            fallen,
            f"Early warning in iteration {number}: {self._described(fallen)}.",
        )

    def _confirmed_in(self, number: int) -> TrapWarning | None:
        if self._since is None or self._confirmed:
            return None
        fallen = self._first.reward.stands or self._later.reward.stands
        confirmation = self._fallen_reward(fallen) if fallen else self._later.risen_gradient()
        if confirmation is None:
            return None
        self._confirmed = True
        signals, reason = confirmation
        text = f"Confirmed in iteration {number}, after the early warning of iteration "
        return TrapWarning(number, "confirmed", signals, f"{text}{self._since}: {reason}.")

    def _fallen_reward(self, fallen: dict[str, float]) -> tuple[Signals, str]:
        """Return that the reward has fallen too, and how."""
        signals = {_REWARD: fallen}
        return signals, self._described(signals)

    def _described(self, fallen: Signals) -> str:
        falls = " and ".join(
            f"{_NAMES[name]} fell from {new['before']:.3g} to {new['level']:.3g} "
            f"(its peak was {new['peak']:.3g})"
            for name, new in fallen.items()
        )
        return f"within {self._settings.patience} iterations {falls}"


class _Watch:
    """The figures of some iterations.

    Attributes:
        falls: of the figures that fall first, by name.
        reward: whether it has fallen.
    """

    def __init__(self, settings: MonitorSettings) -> None:
        self._settings = settings
        self.falls = {name: _Fall(settings, _NOISE[name]) for name in _NAMES if name != _REWARD}
        self.reward = _Fall(settings, _NOISE[_REWARD])
        self._gradient = _Moving(settings.window)

    def take(self, line: Mapping[str, Any]) -> Signals:
        """Return what has fallen now, of the figures that fall first."""
        fallen = {name: fall.take(_finite(line.get(name))) for name, fall in self.falls.items()}
        self.reward.take(_finite(line.get(_REWARD)))
        self._gradient.take(_norm(line))
        return {name: new for name, new in fallen.items() if new is not None}

    @property
    def stands(self) -> bool:
        """Whether a fall of them stands."""
        return any(fall.stands for fall in self.falls.values())

    @property
    def rewarded(self) -> bool:
        """Whether the reward is higher than at first."""
        levels = self.reward.figure.levels
        return bool(levels) and levels[-1] > levels[0]

    def risen_gradient(self) -> tuple[Signals, str] | None:
        """Return that the gradient is large while the reward stands still."""
        patience, times = self._settings.patience, self._settings.gradient
        rewards, norms = self.reward.figure.levels, self._gradient.levels
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


class _Moving:
    """A figure and its moving median.

    Attributes:
        values: all of them, in order of size.
        levels: the medians of so many values in a row.
        steps: how far each value lies from the one before it, in order of size.
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
    """Whether a figure has lost a share of its peak, and lost it fast.

    Args:
        settings: of the monitor.
        noise: how many times its noise it loses at least.

    Attributes:
        figure: and its levels.
        stands: level, level before and peak of a fall, until half of what was lost is back, so
            that noise at the threshold is one warning.
    """

    def __init__(self, settings: MonitorSettings, noise: float) -> None:
        self._settings, self._noise = settings, noise
        self.figure = _Moving(settings.window)
        self.stands: dict[str, float] | None = None

    def take(self, value: float | None) -> dict[str, float] | None:
        """Return level, level before and peak if the figure has fallen now."""
        self.figure.take(value)
        levels = self.figure.levels
        if not levels:
            return None
        level, peak = levels[-1], max(levels)
        if self.stands is not None:
            if level >= (self.stands["before"] + self.stands["level"]) / 2:
                self.stands = None
            return None
        before = max(levels[-1 - self._settings.patience :])
        # Of the peak of all time: what falls evenly loses but a little of that at a time.
        least = max(self._settings.fall * peak, self._noise * _noise(self.figure.steps))
        # What is mostly 0, as where no rollout succeeds, has nothing to lose.
        if median(self.figure.values) <= 0 or before - level < least:
            return None
        self.stands = {"level": level, "before": before, "peak": peak}
        return self.stands


def _noise(steps: list[float]) -> float:
    """Return what all but a fifth of the values move by chance at most, by ordered steps.

    A step is the difference of two values, so its noise is larger by the root of 2; and what a
    figure moves in an iteration with good reason is small beside it.
    """
    return steps[(4 * len(steps) - 1) // 5] / math.sqrt(2) if steps else 0.0


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _norm(line: Mapping[str, Any]) -> float | None:
    """Return the norm of the gradient; where no step had one, it is as large as can be."""
    norm = _finite(line.get(_GRADIENT))
    return math.inf if norm is None and line.get(_SKIPPED) else norm
