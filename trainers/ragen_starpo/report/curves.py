"""The curves of a run's metrics over its iterations, in groups, with their axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import Any

_REST = "training"
_KL = "policy/kl_from_reference"
_BOUNDS = ("success", "low", "high")
ROUNDING = 2.0**-23
"""Relative rounding error of a 32-bit number.

Metrics are computed in 32 bits from numbers of order 1. So a metric within this distance of 0, or
one that changes by less than this fraction, differs by rounding only, and is drawn as constant.
Exceptions are learning rates, whole numbers, and a KL to the reference that is never negative,
since it is a mean of squares.
"""


@dataclass(frozen=True)
class Curve:
    """A metric over iterations.

    Attributes:
        name: Name without its group.
        points: Iteration and value of each finite measurement.
        smooth: Iteration and moving median, from the first full window.
        low: Low end of the axis.
        high: High end of the axis.
    """

    name: str
    points: list[tuple[int, float]]
    smooth: list[tuple[int, float]]
    low: float
    high: float


@dataclass(frozen=True)
class MetricGroup:
    """Metrics with the same prefix.

    Attributes:
        name: The part of their names before the slash.
        keys: Their names in `metrics.jsonl`.
        curves: Curves of the metrics that have a finite value.
    """

    name: str
    keys: list[str]
    curves: list[Curve]


@dataclass(frozen=True)
class HeldOut:
    """Held-out success of an environment.

    Attributes:
        name: Name of the environment.
        points: Iteration, success, and both ends of its 95 % interval.
    """

    name: str
    points: list[tuple[int, float, float, float]]


def group_metrics(metrics: Sequence[Mapping[str, Any]], window: int) -> list[MetricGroup]:
    """Return all metrics except held-out ones, by group.

    Args:
        metrics: Lines of `metrics.jsonl`.
        window: Iterations of the moving median.
    """
    names = dict.fromkeys(name for line in metrics for name in line if name != "iteration")
    training = sorted((name for name in names if not name.startswith("val/")), key=_group)
    unordered = []
    for group, members in groupby(training, key=_group):
        keys = list(members)
        curves = (make_curve(metrics, key, window) for key in keys)
        unordered.append(MetricGroup(group, keys, [line for line in curves if line.points]))
    return sorted(unordered, key=_order)


def make_curve(metrics: Sequence[Mapping[str, Any]], key: str, window: int) -> Curve:
    """Return the curve of a metric, without rounding errors (see `ROUNDING`).

    Args:
        metrics: Lines of `metrics.jsonl`.
        key: Name of the metric.
        window: Measured iterations of the moving median.
    """
    numbers = [line["iteration"] for line in metrics if _is_number(line.get(key))]
    values = [line[key] for line in metrics if _is_number(line.get(key))]
    if not _is_exact(key, values):
        values = _without_rounding(values)
    points = list(zip(numbers, values, strict=True))
    smooth = [
        (points[end - 1][0], median(values[end - window : end]))
        for end in range(window, len(points) + 1)
    ]
    return Curve(key.partition("/")[2] or key, points, smooth, *_axis(values))


def list_held_out(metrics: Sequence[Mapping[str, Any]]) -> list[HeldOut]:
    """Return held-out success of each environment from the lines of `metrics.jsonl`."""
    keys = dict.fromkeys(name for line in metrics for name in line if name.startswith("val/"))
    names = [key.split("/")[1] for key in keys if key.count("/") == 2 and key.endswith("/success")]
    return [
        HeldOut(
            name,
            [
                (line["iteration"], *(line[f"val/{name}/{bound}"] for bound in _BOUNDS))
                for line in metrics
                if f"val/{name}/success" in line
            ],
        )
        for name in names
    ]


def _order(group: MetricGroup) -> tuple[bool, bool, str]:
    return group.name != "rollout", group.name != "policy", group.name


def _group(key: str) -> str:
    return key.partition("/")[0] if "/" in key else _REST


def _is_exact(key: str, values: list[float]) -> bool:
    squared = key == _KL and min(values, default=0.0) >= 0
    return squared or key.endswith("/lr") or all(float(value).is_integer() for value in values)


def _without_rounding(values: list[float]) -> list[float]:
    """Return the values; constant ones where they differ by rounding only."""
    largest = max(map(abs, values), default=0.0)
    if 0 < largest <= ROUNDING:
        return [0.0] * len(values)
    if largest and max(values) - min(values) <= ROUNDING * largest:
        return values[-1:] * len(values)
    return values


def _axis(values: Sequence[float]) -> tuple[float, float]:
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    if low == high:
        return (min(0.0, 2 * low), max(0.0, 2 * high)) if low else (0.0, 1.0)
    return low, high


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
