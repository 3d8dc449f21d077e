"""The cost of a run, and of each point of held-out success."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ragen_envs.core.sums import sum_in_order

_TOTALS = {
    "environment_turns": "rollout/environment_turns",
    "generated_tokens": "rollout/generated_tokens",
    "trained_tokens": "trained_tokens",
}


@dataclass(frozen=True)
class Spent:
    """What iterations cost together.

    Attributes:
        environment_turns: that were played in rollouts.
        generated_tokens: that were sampled in rollouts.
        trained_tokens: that updates learned from, each as often as it was.
        seconds: by phase.
    """

    environment_turns: int = 0
    generated_tokens: int = 0
    trained_tokens: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def all_seconds(self) -> float:
        """Seconds of all phases."""
        return sum_in_order(self.seconds.values())

    @property
    def generated_per_second(self) -> float | None:
        """Generated tokens a second of rollouts; None where none was timed."""
        return _rate(self.generated_tokens, self.seconds.get("rollouts"))

    @property
    def trained_per_second(self) -> float | None:
        """Trained tokens a second of updates; None where none was timed."""
        return _rate(self.trained_tokens, self.seconds.get("updates"))


@dataclass(frozen=True)
class Milestone:
    """A validation.

    Attributes:
        iteration: after which it was, from 0 on.
        success: held-out, in [0, 1].
        spent: by all iterations until then, this one with them.
        gained: points of success (hundredths) since the first validation.
        per_point: what was spent since the first validation for each point that was gained: turns,
            tokens and `seconds`. None where nothing was gained.
    """

    iteration: int
    success: float
    spent: Spent
    gained: float
    per_point: dict[str, float] | None


def spent(
    metrics: Iterable[Mapping[str, Any]], timings: Iterable[Mapping[str, Any]], until: int | None
) -> Spent:
    """Return what iterations cost.

    Args:
        metrics: lines of `metrics.jsonl`.
        timings: lines of `timings.jsonl`.
        until: the last iteration that counts; None for all.
    """

    def counts(line: Mapping[str, Any]) -> bool:
        return until is None or line["iteration"] <= until

    lines = [line for line in metrics if counts(line)]
    seconds: dict[str, float] = {}
    for line in filter(counts, timings):
        for phase, taken in line.items():
            if phase != "iteration":
                seconds[phase] = seconds.get(phase, 0.0) + taken
    totals = {name: int(sum(line.get(key, 0) for line in lines)) for name, key in _TOTALS.items()}
    return Spent(**totals, seconds=seconds)


def milestones(
    metrics: Iterable[Mapping[str, Any]], timings: Iterable[Mapping[str, Any]]
) -> list[Milestone]:
    """Return the validations of a run, in their order.

    Args:
        metrics: lines of `metrics.jsonl`.
        timings: lines of `timings.jsonl`.
    """
    lines, times = list(metrics), list(timings)
    milestones: list[Milestone] = []
    for line in lines:
        if "val/success" not in line:
            continue
        number, success = line["iteration"], line["val/success"]
        now = spent(lines, times, number)
        first = milestones[0] if milestones else None
        gained = 100 * (success - first.success) if first else 0.0
        each = _per_point(first.spent, now, gained) if first and gained > 0 else None
        milestones.append(Milestone(number, success, now, gained, each))
    return milestones


def _per_point(first: Spent, now: Spent, gained: float) -> dict[str, float]:
    more = {name: getattr(now, name) - getattr(first, name) for name in _TOTALS}
    more["seconds"] = now.all_seconds - first.all_seconds
    return {name: value / gained for name, value in more.items()}


def _rate(count: int, seconds: float | None) -> float | None:
    return count / seconds if seconds else None
