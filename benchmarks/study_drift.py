"""How many lost runs of a study were warned of a rising entropy, by the bound of the rise.

ragen-train study starpo-s --looks 1 --out STORE
python benchmarks/study_drift.py STORE
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from ragen_starpo.diagnostics.drift import BOUNDS, DriftMonitor
from ragen_starpo.recipes.run_sections import MonitorSettings
from ragen_starpo.studies.definition import read_study
from ragen_starpo.studies.metrics import WATCHED, Runs, measure
from ragen_starpo.studies.store import load_runs

ENTROPY = "policy/entropy"
SHARES = (0.2, 0.25, 0.3, 0.35, 0.5)


def judge_runs(runs: Runs, share: float) -> list[tuple[bool, bool]]:
    """Return for each run whether it lost its success, and whether a rise was warned of.

    Args:
        runs: The runs of an arm.
        share: Minimum rise of the entropy, as `Bound.share`.
    """
    bounds = {ENTROPY: replace(BOUNDS[ENTROPY], share=share)}
    lost = measure(runs)["collapsed"] > 0
    count, iterations = runs.curves["success"].shape
    found = []
    for run in range(count):
        monitor, is_warned = DriftMonitor(MonitorSettings().window, {}, bounds), False
        for i in range(iterations):
            line = {name: float(runs.curves[curve][run, i]) for name, curve in WATCHED.items()}
            is_warned |= bool(monitor.take({"iteration": i + 1, **line}))
        found.append((bool(lost[run]), is_warned))
    return found


def main(store: Path) -> None:
    """Print a row of the table for each bound."""
    study = read_study("starpo-s")
    arms = [load_runs(store, study, arm, study.looks[0]) for arm in study.arms]
    for share in SHARES:
        found = [run for runs in arms if runs for run in judge_runs(runs, share)]
        cells = []
        for is_lost in (True, False):
            some = [warned for lost, warned in found if lost is is_lost]
            cells.append(f"{sum(some)} of {len(some)}")
        sys.stdout.write(f"| {100 * share:.0f} % | {' | '.join(cells)} |\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
