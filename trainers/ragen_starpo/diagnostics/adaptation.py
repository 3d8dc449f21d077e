"""Adapts the rollouts and updates after a warning of the echo trap.

RAGEN (arXiv 2504.20073) finds training more stable with fresh and diverse rollouts. So a warning
raises the sampling temperature, and can limit each batch of rollouts to a single update.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragen_starpo.diagnostics.monitor import TrapWarning
from ragen_starpo.recipes.sections import MonitorSettings


@dataclass(frozen=True)
class AdaptableSettings:
    """The settings that a warning may change.

    Attributes:
        temperature: Sampling temperature of the rollouts.
        updates: Number of passes over the rollouts of an iteration.
    """

    temperature: float
    updates: int


class Adaptation:
    """Applies a run's warnings to its settings.

    The state depends only on the recipe and the sequence of warnings, so a resumed run that repeats
    them is in the same state.

    Args:
        monitor: Effect of a warning.
        settings: Settings of the recipe.

    Attributes:
        settings: Settings of the next iteration.
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
        changes = {
            name: {"from": old, "to": new}
            for name, old, new in (
                ("rollouts.temperature", before.temperature, self.settings.temperature),
                ("updates", before.updates, self.settings.updates),
            )
            if old != new
        }
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
        return {
            "rollout/temperature": self.settings.temperature,
            "updates": self.settings.updates,
        }


def adapt(settings: AdaptableSettings, monitor: MonitorSettings) -> AdaptableSettings:
    """Return the settings after one more warning."""
    raised = min(settings.temperature * monitor.temperature_factor, monitor.temperature_limit)
    return AdaptableSettings(
        temperature=max(settings.temperature, raised),
        updates=1 if monitor.single_update else settings.updates,
    )
