"""The curves of a run's metrics over its iterations, in groups, with their axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from statistics import median

from ragen_starpo.diagnostics.levels import finite

_REST = "training"
_KL = "policy/kl_from_reference"
_SUCCESS = "val/success"
ROUNDING = 2.0**-23
"""Relative rounding error of a 32-bit number.

Metrics are computed in 32 bits from numbers of order 1. So a metric within this distance of 0, or
one that changes by less than this fraction, differs by rounding only, and is drawn as constant.
Exceptions are learning rates, whole numbers, and a KL to the reference that is never negative,
since it is a mean of squares.
"""


@dataclass(frozen=True)
class Curve:
    """A metric over iterations, by its name without its group, with the ends of its axis.

    The points are finite measurements with their iterations; `smooth` is their moving median, from
    the first full window.
    """

    name: str
    points: list[tuple[int, float]]
    smooth: list[tuple[int, float]]
    low: float
    high: float

    @property
    def is_flat(self) -> bool:
        """Whether the metric was measured more than once and never moved."""
        values = {value for _, value in self.points}
        return len(self.points) > 1 and len(values) == 1


@dataclass(frozen=True)
class MetricGroup:
    """Metrics with the same prefix, with curves of those that have a finite value.

    The curves that move are apart from the flat ones, which the page folds away.
    """

    name: str
    keys: list[str]
    curves: list[Curve]
    flat: list[Curve]


@dataclass(frozen=True)
class Checkpoints:
    """Mean held-out success of the best model and the last one, from 0 to 1.

    An iteration is None for the model that training began with.
    """

    best: tuple[int | None, float]
    last: tuple[int | None, float]


@dataclass(frozen=True)
class HeldOut:
    """Held-out success of an environment: iteration, success, and the ends of its 95 % interval."""

    name: str
    points: list[tuple[int, float, float, float]]


def group_metrics(metrics: Sequence[Mapping[str, float]], window: int) -> list[MetricGroup]:
    """Return all metrics except held-out ones, by group, from the lines of `metrics.jsonl`."""
    names = dict.fromkeys(name for line in metrics for name in line if name != "iteration")
    training = sorted((name for name in names if not name.startswith("val/")), key=_group)
    unordered = []
    for group, members in groupby(training, key=_group):
        keys = list(members)
        curves = [curve for key in keys if (curve := make_curve(metrics, key, window)).points]
        moving, flat = ([c for c in curves if c.is_flat == flat] for flat in (False, True))
        unordered.append(MetricGroup(group, keys, moving, flat))
    first = {"rollout": 0, "policy": 1}
    return sorted(unordered, key=lambda group: (first.get(group.name, 2), group.name))


def make_curve(metrics: Sequence[Mapping[str, float]], key: str, window: int) -> Curve:
    """Return the curve of a metric, without rounding errors (see `ROUNDING`).

    The window is the number of measured iterations of the moving median.
    """
    measured = [(line["iteration"], line[key]) for line in metrics if _is_number(line.get(key))]
    values = [value for _, value in measured]
    low, high = min(values, default=0.0), max(values, default=0.0)
    largest = max(-low, high)
    is_exact = (
        (key == _KL and low >= 0)
        or key.endswith("/lr")
        or all(float(value).is_integer() for value in values)
    )
    if not is_exact and largest <= ROUNDING:
        values = [0.0] * len(values)
    elif not is_exact and high - low <= ROUNDING * largest:
        values = values[-1:] * len(values)
    points = [(int(number), value) for (number, _), value in zip(measured, values, strict=True)]
    smooth = [
        (points[end - 1][0], median(values[end - window : end]))
        for end in range(window, len(points) + 1)
    ]
    return Curve(key.partition("/")[2] or key, points, smooth, *_axis(values))


def find_checkpoints(
    metrics: Sequence[Mapping[str, float]], start: Mapping[str, float]
) -> Checkpoints | None:
    """Return the best model, of equal ones the first, and the last; None without a validation."""
    validated: list[tuple[int | None, float]] = [
        (int(line["iteration"]), success)
        for line in metrics
        if (success := finite(line.get(_SUCCESS))) is not None
    ]
    if (success := finite(start.get(_SUCCESS))) is not None:
        validated.insert(0, (None, success))
    if not validated:
        return None
    return Checkpoints(max(validated, key=itemgetter(1)), validated[-1])


def list_held_out(metrics: Sequence[Mapping[str, float]]) -> list[HeldOut]:
    """Return held-out success of each environment from the lines of `metrics.jsonl`."""
    keys = dict.fromkeys(name for line in metrics for name in line if name.startswith("val/"))
    held_out = []
    for key in keys:
        if key.count("/") == 2 and key.endswith("/success"):
            place = key.removesuffix("success")
            columns = key, f"{place}low", f"{place}high"
            points = [
                (int(line["iteration"]), line[columns[0]], line[columns[1]], line[columns[2]])
                for line in metrics
                if all(name in line for name in columns)
            ]
            if points:
                held_out.append(HeldOut(key.split("/")[1], points))
    return held_out


def _group(key: str) -> str:
    return key.partition("/")[0] if "/" in key else _REST


def _axis(values: Sequence[float]) -> tuple[float, float]:
    if not values:
        return 0.0, 1.0
    low, high = min(values), max(values)
    if low == high:
        return (min(0.0, 2 * low), max(0.0, 2 * high)) if low else (0.0, 1.0)
    return low, high


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
