"""Adaptation to the echo trap: how rollouts are played and used after a warning.

RAGEN (arXiv 2504.20073) finds training steadier where rollouts are fresh and differ. So a warning
raises the temperature that they are sampled at, and lets each set of them serve one update only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragen_starpo.diagnostics.monitor import TrapWarning
from ragen_starpo.recipes.sections import MonitorSettings


@dataclass(frozen=True)
class AdaptableSettings:
    """The settings that a warning may change.

    Attributes:
        temperature: that rollouts are sampled at.
        updates: passes over the rollouts of an iteration.
    """

    temperature: float
    updates: int


class Adaptation:
    """Follows a run's warnings.

    Its state follows from the recipe and the warnings alone, in their order: a resumed run that
    takes them again is where it was.

    Args:
        monitor: what a warning does.
        settings: of the recipe.

    Attributes:
        settings: of the next iteration.
    """

    def __init__(self, monitor: MonitorSettings, settings: AdaptableSettings) -> None:
        self.settings = settings
        self._monitor = monitor
        self._acts = monitor.action == "adapt"

    def take(self, warning: TrapWarning) -> TrapWarning:
        """Change what the recipe lets a warning change, and return the warning with that in it."""
        if not self._acts:
            return warning
        before, self.settings = self.settings, adapted(self.settings, self._monitor)
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
            or "there is nothing left to change"
        )
        text = f"{warning.text} From iteration {warning.iteration + 1} on, {sentence}."
        return replace(warning, text=text, changes=changes)

    def figures(self) -> dict[str, float]:
        """Return the settings of the next iteration, where they may change in the run."""
        if not self._acts:
            return {}
        return {
            "rollout/temperature": self.settings.temperature,
            "updates": self.settings.updates,
        }


def adapted(settings: AdaptableSettings, monitor: MonitorSettings) -> AdaptableSettings:
    """Return the settings as one more warning changes them."""
    raised = min(settings.temperature * monitor.temperature_factor, monitor.temperature_limit)
    return AdaptableSettings(
        temperature=max(settings.temperature, raised),
        updates=1 if monitor.single_update else settings.updates,
    )
