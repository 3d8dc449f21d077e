"""Warns of the echo trap: rollouts that become alike, then a reward that stagnates (RAGEN).

RAGEN (arXiv 2504.20073) observes, in this order: the standard deviation of returns in a group and
the entropy fall, the reward stagnates or falls, the gradient norm grows. RAGEN-2 (arXiv 2604.06268)
adds that thoughts may stop depending on the context while their entropy stays.

RAGEN finds training more stable with fresh and diverse rollouts. So a warning may raise the
sampling temperature, limit each batch of rollouts to a single update, and replace prompts whose
rollouts have equal returns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Literal, TypeAlias

from ragen_starpo.diagnostics.levels import MovingMedian, finite
from ragen_starpo.recipes.recipe import Recipe
from ragen_starpo.recipes.run_sections import MonitorSettings

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
    """A warning of an iteration: early, confirmed after an early one, or of a drift.

    The signals have by metric its `level` and the values it is compared with. The text says the
    same in one sentence, and the changes in a second one: those of the recipe's settings from the
    next iteration, `from` and `to` by name.
    """

    iteration: int
    kind: Literal["early", "confirmed", "drift"]
    signals: Signals
    text: str
    changes: dict[str, dict[str, float]] = field(default_factory=dict)


class EchoTrapMonitor:
    """Watches a run's metrics, one iteration at a time.

    Its state depends only on the lines of `metrics.jsonl`, so a resumed run restores it from them.
    """

    def __init__(self, settings: MonitorSettings) -> None:
        self._settings = settings
        self._first, self._later = _Watch(settings), _Watch(settings)
        self._pending: Signals = {}
        self._since: int | None = None
        self._last = 0
        self._confirmed = False

    def take(self, line: Mapping[str, float]) -> list[TrapWarning]:
        """Return the warnings of a line of `metrics.jsonl`: early, confirmed, both or none.

        Missing metrics, as the entropy of an iteration without an update, and values that are not
        finite are skipped. If no step had a finite gradient, its norm counts as infinite.
        """
        number = int(line["iteration"])
        fallen = self._falls_at_first(number, line)
        if number >= self._settings.warm_up:
            fallen = {**fallen, **self._later.take(line)}
        if self._first.has_fallen or self._later.has_fallen:
            self._last = number
        elif number > self._last + self._settings.patience:
            # Wait, since the entropy of a collapsing model may rise for a moment.
            self._since, self._confirmed = None, False
        warnings = []
        if fallen:
            if self._since is None:
                self._since = number
            text = f"Early warning in iteration {number}: {self._describe(fallen)}."
            warnings.append(TrapWarning(number, "early", fallen, text))
        if self._since is not None and not self._confirmed:
            fall = self._first.reward.current or self._later.reward.current
            reward = {_REWARD: fall} if fall else {}
            found = (reward, self._describe(reward)) if fall else self._later.find_risen_gradient()
            if found:
                self._confirmed = True
                text = f"Confirmed in iteration {number}, after the early warning of iteration "
                text += f"{self._since}: {found[1]}."
                warnings.append(TrapWarning(number, "confirmed", found[0], text))
        return warnings

    def _falls_at_first(self, number: int, line: Mapping[str, float]) -> Signals:
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

    def _describe(self, fallen: Signals) -> str:
        falls = " and ".join(
            f"{_NAMES[name]} fell from {new['before']:.3g} to {new['level']:.3g} "
            f"(its peak was {new['peak']:.3g})"
            for name, new in fallen.items()
        )
        return f"within {self._settings.patience} iterations {falls}"


class _Watch:
    """The watched metrics over some iterations: the early signals, and the reward."""

    def __init__(self, settings: MonitorSettings) -> None:
        self._settings = settings
        self.falls = {name: _Fall(settings, _NOISE[name]) for name in _NAMES if name != _REWARD}
        self.reward = _Fall(settings, _NOISE[_REWARD])
        self._gradient = MovingMedian(settings.window)

    def take(self, line: Mapping[str, float]) -> Signals:
        """Return the early signals that have fallen in this iteration."""
        fallen = {name: fall.take(finite(line.get(name))) for name, fall in self.falls.items()}
        self.reward.take(finite(line.get(_REWARD)))
        norm = finite(line.get(_GRADIENT))
        if norm is None and line.get(_SKIPPED):  # no step had a finite one
            norm = math.inf
        self._gradient.take(norm)
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


class _Fall:
    """Detects a quick loss of a fraction of a metric's peak, until half of it is recovered."""

    def __init__(self, settings: MonitorSettings, noise: float) -> None:
        self._settings, self._noise = settings, noise
        self.metric = MovingMedian(settings.window)
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
        minimum = max(self._settings.fall * peak, self._noise * self.metric.noise)
        # A metric that is mostly 0, as if no rollout succeeds, cannot fall.
        if median(self.metric.values) <= 0 or before - level < minimum:
            return None
        self.current = {"level": level, "before": before, "peak": peak}
        return self.current


@dataclass(frozen=True)
class AdaptableSettings:
    """The settings that a warning may change: those of the rollouts, and the passes over them."""

    temperature: float
    updates: int
    refills: int

    @classmethod
    def of(cls, recipe: Recipe) -> AdaptableSettings:
        """Return the settings of the first iteration."""
        return cls(recipe.rollouts.temperature, recipe.updates, recipe.rollouts.refills)


class Adaptation:
    """Applies a run's warnings to its settings, which are those of the next iteration.

    The state depends only on the recipe and the sequence of warnings, so a resumed run that repeats
    them is in the same state.
    """

    def __init__(self, monitor: MonitorSettings, settings: AdaptableSettings) -> None:
        self.settings = settings
        self._monitor = monitor
        self._adapts = monitor.action == "adapt"

    def take(self, warning: TrapWarning) -> TrapWarning:
        """Change the settings as the recipe allows; return the warning with the changes."""
        if not self._adapts:
            return warning
        before, self.settings = self.settings, adapt(self.settings, self._monitor)
        now = self.settings
        both = {
            "rollouts.temperature": (before.temperature, now.temperature),
            "updates": (before.updates, now.updates),
            "rollouts.refills": (before.refills, now.refills),
        }
        changes = {n: {"from": old, "to": new} for n, (old, new) in both.items() if old != new}
        sentence = (
            " and ".join(f"{n} is {c['to']:g} instead of {c['from']:g}" for n, c in changes.items())
            or "no setting can change further"
        )
        text = f"{warning.text} From iteration {warning.iteration + 1} on, {sentence}."
        return replace(warning, text=text, changes=changes)

    def metrics(self) -> dict[str, float]:
        """Return the settings of the next iteration; empty if they cannot change in the run."""
        if not self._adapts:
            return {}
        now = self.settings
        refills = {"refills": float(now.refills)} if self._monitor.refills else {}
        return {"rollout/temperature": now.temperature, "updates": now.updates, **refills}


def adapt(settings: AdaptableSettings, monitor: MonitorSettings) -> AdaptableSettings:
    """Return the settings after one more warning."""
    raised = min(settings.temperature * monitor.temperature_factor, monitor.temperature_limit)
    return AdaptableSettings(
        temperature=max(settings.temperature, raised),
        updates=1 if monitor.single_update else settings.updates,
        refills=max(settings.refills, monitor.refills),
    )
