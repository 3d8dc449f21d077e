"""The metrics of runs, from their curves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ragen_starpo.diagnostics.monitor import EchoTrapMonitor
from ragen_starpo.recipes.run_sections import MonitorSettings
from ragen_starpo.studies.definition import GAIN, WINDOW

Curves: TypeAlias = Mapping[str, NDArray[np.float32]]
Values: TypeAlias = NDArray[np.float64]
WATCHED = {
    "rollout/reward_deviation": "reward_deviation",
    "policy/entropy": "entropy",
    "rollout/reward": "reward",
    "policy/grad_norm": "grad_norm",
}
"""Curves by the names that the monitor reads."""
_SIGNS = {
    "deviation_lead": "rollout/reward_deviation",
    "entropy_lead": "policy/entropy",
    "gradient_lead": "policy/grad_norm",
}
LEADS = ("monitor_lead", *_SIGNS)
"""Metrics of the time from a sign to the collapse."""


@dataclass(frozen=True)
class Runs:
    """The results of an arm's runs, in the order of warm starts, then seeds.

    Attributes:
        curves: Curves by name, (runs, iterations), NaN where a value is not defined: `success`,
            `reward`, `reward_deviation` within groups, `kept` (fraction of rollouts trained on),
            `void` (fraction of rollouts with a turn without an action), `replaced` (groups that
            others replaced, as a fraction), `rollout_tokens`, `trained_tokens`, and the metrics of
            the losses.
        test: Success of the last model on held-out instances, (runs,), from 0 to 1.
        start: The same of the first model.
        seconds: Seconds of one core for all runs, without their warm starts; 0 on a GPU.
        gpu_seconds: The same of a GPU.
    """

    curves: Curves
    test: NDArray[np.float32]
    start: NDArray[np.float32]
    seconds: float
    gpu_seconds: float = 0.0


def moving_means(success: NDArray[np.float32]) -> Values:
    """Return the means of `WINDOW` iterations in points, (runs, iterations - WINDOW + 1)."""
    windows = np.lib.stride_tricks.sliding_window_view(success.astype(np.float64), WINDOW, axis=1)
    means: Values = 100 * windows.mean(axis=2)
    return means


def measure(runs: Runs) -> dict[str, Values]:
    """Return the metrics of success by name, (runs,).

    `mean`, success over all iterations; `test` and `gain`, held-out success of the last model, and
    less that of the first; `best` and `last`, the highest and the last moving mean. A run has
    collapsed when its moving mean is `GAIN` points below its best so far: `collapsed`, 100 if it
    has, and `collapse_time`, the iteration, or the number of iterations.
    """
    means = moving_means(runs.curves["success"])
    best = np.maximum.accumulate(means, axis=1)
    lost = means <= best - GAIN
    collapsed = lost.any(axis=1)
    iterations = runs.curves["success"].shape[1]
    return {
        "mean": 100 * runs.curves["success"].mean(axis=1, dtype=np.float64),
        "test": 100 * runs.test.astype(np.float64),
        "gain": 100 * (runs.test.astype(np.float64) - runs.start),
        "best": best[:, -1],
        "last": means[:, -1],
        "collapse_time": np.where(collapsed, lost.argmax(axis=1) + WINDOW, iterations).astype(
            float
        ),
        "collapsed": 100.0 * collapsed,
    }


def measure_signs(runs: Runs) -> dict[str, Values]:
    """Return the metrics of early signs by name, (runs,); NaN for a run that has none.

    The monitor of `ragen_starpo.diagnostics` reads the curves with its default bounds. For
    collapsed runs, `deviation_lead`, `entropy_lead`, `gradient_lead` and `monitor_lead` are the
    iterations from its first warning of a sign, or of any, to the collapse; a sign that never comes
    counts as one of the last iteration. `monitor_recall` is 100 if it has warned by then. For
    warned runs, `monitor_precision` is 100 if the run collapses then or later.
    """
    count, iterations = runs.curves["success"].shape
    success = measure(runs)
    collapsed, collapse_time = success["collapsed"] > 0, success["collapse_time"]
    signs = [_first_signs(runs.curves, run) for run in range(count)]
    metrics = {}
    for name in LEADS:
        first = np.array([sign.get(name, iterations) for sign in signs], dtype=float)
        metrics[name] = np.where(collapsed, collapse_time - first, math.nan)
    first = np.array([sign.get("monitor_lead", math.inf) for sign in signs])
    in_time = 100.0 * (first <= collapse_time)
    metrics["monitor_recall"] = np.where(collapsed, in_time, math.nan)
    metrics["monitor_precision"] = np.where(np.isfinite(first), collapsed * in_time, math.nan)
    return metrics


def find_missing_signs(runs: Runs, lead: str) -> Values:
    """Return 1 for a collapsed run without the sign of a lead, 0 with it, NaN for others, (runs,).

    A sign at the last iteration is one.
    """
    count = len(runs.curves["success"])
    missed = [float(lead not in _first_signs(runs.curves, run)) for run in range(count)]
    return np.where(measure(runs)["collapsed"] > 0, missed, math.nan)


def find_rise(runs: Runs) -> float:
    """Return the points from the first iteration to the best moving mean, of all runs together."""
    success = runs.curves["success"]
    first = 100 * float(success[:, 0].mean(dtype=np.float64))
    return float(moving_means(success).mean(axis=0).max()) - first


def _first_signs(curves: Curves, run: int) -> dict[str, int]:
    watched = {name: curves[curve][run] for name, curve in WATCHED.items() if curve in curves}
    watched.setdefault("rollout/reward", curves["success"][run])
    monitor = EchoTrapMonitor(MonitorSettings())
    first: dict[str, int] = {}
    for place in range(curves["success"].shape[1]):
        line = {name: float(values[place]) for name, values in watched.items()}
        for warning in monitor.take({"iteration": place + 1, **line}):
            first.setdefault("monitor_lead", warning.iteration)
            for name, metric in _SIGNS.items():
                if metric in warning.signals:
                    first.setdefault(name, warning.iteration)
    return first
