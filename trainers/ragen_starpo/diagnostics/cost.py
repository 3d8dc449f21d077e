"""The cost of a run, and the cost of each point of held-out success."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from ragen_envs.core.sums import sum_in_order

TOTALS = {
    "environment_turns": "rollout/environment_turns",
    "generated_tokens": "rollout/generated_tokens",
    "trained_tokens": "trained_tokens",
}
"""Names of the counts in `metrics.jsonl`, by the fields of `Cost`."""


@dataclass(frozen=True)
class Cost:
    """The cost of some iterations: turns and tokens of rollouts, tokens of passes, and seconds."""

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

    The iteration before it counts from 0, success is in [0, 1], and the cost is that of all
    iterations up to this one. The gain is in percentage points since the first validation;
    `per_point` has the turns, tokens and `seconds` since then for each point, and is None without a
    gain.
    """

    iteration: int
    success: float
    spent: Cost
    gained: float
    per_point: dict[str, float] | None


def sum_cost(
    metrics: Iterable[Mapping[str, float]],
    timings: Iterable[Mapping[str, float]],
    until: float = inf,
) -> Cost:
    """Return the total cost of the iterations up to one, from the lines of a run's files."""
    lines = [line for line in metrics if line["iteration"] <= until]
    seconds: dict[str, float] = {}
    for line in timings:
        if line["iteration"] <= until:
            for phase, value in line.items():
                if phase != "iteration":
                    seconds[phase] = seconds.get(phase, 0.0) + value
    totals = {name: sum(int(line.get(key, 0)) for line in lines) for name, key in TOTALS.items()}
    return Cost(**totals, seconds=seconds)


def list_milestones(
    metrics: Sequence[Mapping[str, float]], timings: Sequence[Mapping[str, float]]
) -> list[Milestone]:
    """Return the validations of a run in their order, from the lines of its files."""
    milestones: list[Milestone] = []
    for line in metrics:
        if "val/success" not in line:
            continue
        number, success = int(line["iteration"]), line["val/success"]
        spent, gained, per_point = sum_cost(metrics, timings, number), 0.0, None
        if milestones:
            first = milestones[0]
            gained = 100 * (success - first.success)
            if gained > 0:
                each = {name: getattr(spent, name) - getattr(first.spent, name) for name in TOTALS}
                each["seconds"] = spent.all_seconds - first.spent.all_seconds
                per_point = {name: value / gained for name, value in each.items()}
        milestones.append(Milestone(number, success, spent, gained, per_point))
    return milestones


def _rate(count: int, seconds: float | None) -> float | None:
    return count / seconds if seconds else None
