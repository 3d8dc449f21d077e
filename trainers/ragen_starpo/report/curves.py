"""Curves: a run's figures over its iterations, in groups, with their axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median
from typing import Any

_REST = "training"
_DIVERGENCE = "policy/kl_from_reference"
_BOUNDS = ("success", "low", "high")
ROUNDING = 2.0**-23
"""What a number of 32 bits is rounded by, as a share of it.

Figures are computed in such numbers from numbers about 1, so one that never leaves this of 0 is 0
but for rounding, and one that moves by less than this share of it stays. Neither is drawn as if it
moved. Learning rates are exact, and may be as small; so are whole numbers, and the divergence from
the reference where it is never negative, as the mean of squares.
"""


@dataclass(frozen=True)
class Curve:
    """A figure over iterations.

    Attributes:
        name: the name without its group.
        points: iteration and value, where it was measured and is a number.
        smooth: iteration and moving median, from the first whole window on.
        low: the low end of the axis.
        high: the high end of the axis.
    """

    name: str
    points: list[tuple[int, float]]
    smooth: list[tuple[int, float]]
    low: float
    high: float


@dataclass(frozen=True)
class FigureGroup:
    """Figures that belong together.

    Attributes:
        name: the part of their names before the slash.
        keys: their names in `metrics.jsonl`.
        curves: the curves of those that were ever a number.
    """

    name: str
    keys: list[str]
    curves: list[Curve]


@dataclass(frozen=True)
class HeldOut:
    """Held-out success of an environment.

    Attributes:
        name: the environment's name.
        points: iteration, success, and both ends of its 95 % interval.
    """

    name: str
    points: list[tuple[int, float, float, float]]


def groups(metrics: Sequence[Mapping[str, Any]], window: int) -> list[FigureGroup]:
    """Return all figures but held-out ones, by group.

    Args:
        metrics: lines of `metrics.jsonl`.
        window: iterations of the moving median.
    """
    names = dict.fromkeys(name for line in metrics for name in line if name != "iteration")
    kept = sorted((name for name in names if not name.startswith("val/")), key=_group)
    unordered = []
    for group, members in groupby(kept, key=_group):
        keys = list(members)
        curves = (curve(metrics, key, window) for key in keys)
        unordered.append(FigureGroup(group, keys, [line for line in curves if line.points]))
    return sorted(unordered, key=_order)


def curve(metrics: Sequence[Mapping[str, Any]], key: str, window: int) -> Curve:
    """Return one figure as a curve.

    Args:
        metrics: lines of `metrics.jsonl`.
        key: the figure's name.
        window: measured iterations of the moving median.

    Returns:
        The curve, without what is `ROUNDING`.
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


def held_out(metrics: Sequence[Mapping[str, Any]]) -> list[HeldOut]:
    """Return held-out success of each environment.

    Args:
        metrics: lines of `metrics.jsonl`.
    """
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


def _order(group: FigureGroup) -> tuple[bool, bool, str]:
    return group.name != "rollout", group.name != "policy", group.name


def _group(key: str) -> str:
    return key.partition("/")[0] if "/" in key else _REST


def _is_exact(key: str, values: list[float]) -> bool:
    """Return whether a figure is drawn as it is, see `ROUNDING`."""
    squared = key == _DIVERGENCE and min(values, default=0.0) >= 0
    return squared or key.endswith("/lr") or all(float(value).is_integer() for value in values)


def _without_rounding(values: list[float]) -> list[float]:
    """Return the values, or as many times the last one, or 0, where only rounding moves them."""
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
