"""How often the echo trap's monitor warns on made curves of trainings, and when.

    PYTHONPATH=. python benchmarks/monitor_curves.py

The curves are those of its tests, with other seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product, repeat
from random import Random
from statistics import median
from typing import Any

from ragen_starpo.diagnostics.drift import DriftMonitor
from ragen_starpo.diagnostics.monitor import EchoTrapMonitor, TrapWarning
from ragen_starpo.recipes.run_sections import MonitorSettings
from tests.ragen_starpo.diagnostics import made_curves as made

RUNS = 100
STARTS = range(60, 60 + RUNS)
SHARES = (0.005, 0.01, 0.03, 0.1, 0.5, 0.95)


def warnings_of(lines: Iterable[dict[str, Any]]) -> list[TrapWarning]:
    """Return both monitors' warnings for a run, with their default settings."""
    settings, drift = MonitorSettings(), DriftMonitor(MonitorSettings().window, {})
    monitor = EchoTrapMonitor(settings)
    return [warning for line in lines for warning in (*monitor.take(line), *drift.take(line))]


def warned(runs: Sequence[Sequence[TrapWarning]], begins: Iterable[int] = repeat(0)) -> str:
    """Return how many runs had a warning, a confirmation and a drift, and when the first came.

    Args:
        runs: their warnings.
        begins: the iteration of each that the first warning is counted from.
    """
    times = [
        (trap_of(warnings)[0].iteration, begin)
        for warnings, begin in zip(runs, begins, strict=False)
        if trap_of(warnings)
    ]
    confirmed, drift = (
        sum(any(one.kind == kind for one in warnings) for warnings in runs)
        for kind in ("confirmed", "drift")
    )
    middle = f"{median(first - begin for first, begin in times):g}" if times else ""
    return f"{len(runs)} | {len(times)} | {confirmed} | {middle} | {drift}"


def trap_of(warnings: Sequence[TrapWarning]) -> list[TrapWarning]:
    """Return the warnings of the echo trap."""
    return [warning for warning in warnings if warning.kind != "drift"]


def noisy(curve: Sequence[tuple[float, ...]], share: float) -> list[list[TrapWarning]]:
    """Return the monitor's warnings for a curve with different noise."""
    return [warnings_of(made.noisy(1000 + seed, share, curve)) for seed in range(RUNS)]


def in_time(share: float) -> tuple[list[list[TrapWarning]], int]:
    """Return what is said of later collapses, and how often before half of the success is gone."""
    runs, early = [], 0
    for start in STARTS:
        curve = list(made.collapse(start))
        runs.append(warnings_of(made.noisy(start, share, curve)))
        half = curve[start][0] / 2
        trap = trap_of(runs[-1])
        early += bool(trap) and curve[trap[0].iteration][0] > half
    return runs, early


def main() -> None:
    """Print the table."""
    print("| curve | runs | warned | confirmed | iterations to the first warning, median | drift |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for share in (0.15, 0.25):
        rises = noisy([made.rise(number) for number in range(made.ITERATIONS)], share)
        print(f"| rise, noise {share:.0%} | {warned(rises)} |")
    for share in (0.15, 0.25):
        runs, early = in_time(share)
        print(f"| collapse, noise {share:.0%}; {early} warned in time | {warned(runs, STARTS)} |")
    noise = Random(1)
    chance = [warnings_of(made.by_chance(noise, success)) for success in SHARES for _ in range(50)]
    print(f"| a success that stays, by chance | {warned(chance)} |")
    for start in range(0, 12, 2):
        runs = noisy(list(made.early_collapse(start, 2)), 0.05)
        print(f"| collapse from iteration {start} on, noise 5% | {warned(runs, repeat(start))} |")
    for pace, gain in product((2, 4), (0.0, 0.1, 0.3)):
        runs = noisy(list(made.form_learned(pace, gain)), 0.1)
        print(
            f"| a form learned in a time of {pace}, reward +{gain:g}, noise 10% | {warned(runs)} |"
        )


if __name__ == "__main__":
    main()
