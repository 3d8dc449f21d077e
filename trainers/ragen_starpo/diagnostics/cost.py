"""The cost of a run, and the cost of each point of held-out success."""

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
class Cost:
    """The total cost of some iterations.

    Attributes:
        environment_turns: Turns played in rollouts.
        generated_tokens: Tokens sampled in rollouts.
        trained_tokens: Tokens of the updates, counted once for each pass.
        seconds: Seconds by phase.
    """

    environment_turns: int = 0
    generated_tokens: int = 0
    trained_tokens: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def all_seconds(self) -> float:
        """Seconds of all phases together."""
        return sum_in_order(self.seconds.values())

    @property
    def generated_per_second(self) -> float | None:
        """Generated tokens per second of rollouts; None without a timing."""
        return _rate(self.generated_tokens, self.seconds.get("rollouts"))

    @property
    def trained_per_second(self) -> float | None:
        """Trained tokens per second of updates; None without a timing."""
        return _rate(self.trained_tokens, self.seconds.get("updates"))


@dataclass(frozen=True)
class Milestone:
    """A validation.

    Attributes:
        iteration: The iteration before it, from 0.
        success: Held-out success in [0, 1].
        spent: Cost of all iterations up to this one.
        gained: Percentage points of success since the first validation.
        per_point: Turns, tokens and `seconds` since the first validation, for each point gained.
            None without a gain.
    """

    iteration: int
    success: float
    spent: Cost
    gained: float
    per_point: dict[str, float] | None


def sum_cost(
    metrics: Iterable[Mapping[str, Any]], timings: Iterable[Mapping[str, Any]], until: int | None
) -> Cost:
    """Return the total cost of iterations.

    Args:
        metrics: Lines of `metrics.jsonl`.
        timings: Lines of `timings.jsonl`.
        until: The last iteration that counts; None for all.
    """

    def counts(line: Mapping[str, Any]) -> bool:
        return until is None or line["iteration"] <= until

    lines = [line for line in metrics if counts(line)]
    seconds: dict[str, float] = {}
    for line in filter(counts, timings):
        for phase, value in line.items():
            if phase != "iteration":
                seconds[phase] = seconds.get(phase, 0.0) + value
    totals = {name: int(sum(line.get(key, 0) for line in lines)) for name, key in _TOTALS.items()}
    return Cost(**totals, seconds=seconds)


def list_milestones(
    metrics: Iterable[Mapping[str, Any]], timings: Iterable[Mapping[str, Any]]
) -> list[Milestone]:
    """Return the validations of a run in their order, from the lines of its files."""
    lines, times = list(metrics), list(timings)
    milestones: list[Milestone] = []
    for line in lines:
        if "val/success" not in line:
            continue
        number, success = line["iteration"], line["val/success"]
        now = sum_cost(lines, times, number)
        first = milestones[0] if milestones else None
        gained = 100 * (success - first.success) if first else 0.0
        each = _per_point(first.spent, now, gained) if first and gained > 0 else None
        milestones.append(Milestone(number, success, now, gained, each))
    return milestones


def _per_point(first: Cost, now: Cost, gained: float) -> dict[str, float]:
    difference = {name: getattr(now, name) - getattr(first, name) for name in _TOTALS}
    difference["seconds"] = now.all_seconds - first.all_seconds
    return {name: value / gained for name, value in difference.items()}


def _rate(count: int, seconds: float | None) -> float | None:
    return count / seconds if seconds else None
