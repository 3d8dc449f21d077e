"""Judge whether rollouts one iteration ahead learn as well: docs/results/one-ahead.md has the rule.

    python benchmarks/one_ahead.py FOLDER

The folder holds the runs `ahead-0-seed-N` and `ahead-1-seed-N`.
"""

from __future__ import annotations

import json
import sys
from math import sqrt
from pathlib import Path
from statistics import fmean, median, stdev

from scipy.special import stdtrit

from ragen_envs.core.sums import sum_in_order

SEEDS = range(5)
ITERATIONS, FIRST, LAST = 40, 5, 10
"""Of a run, of those whose rollouts' success is its start, and of its end."""
RISE, MARGIN = 0.15, 0.15


def main(folder: Path) -> None:
    """Print each run, and the verdict."""
    ends: dict[int, list[float]] = {0: [], 1: []}
    rises = []
    print("| seed | ahead | first 5 | last 10 | seconds an iteration |")
    print("| ---: | ---: | ---: | ---: | ---: |")
    for seed in SEEDS:
        for ahead in (0, 1):
            run = folder / f"ahead-{ahead}-seed-{seed}"
            success = [line["rollout/success"] for line in _lines(run / "metrics.jsonl")]
            if len(success) != ITERATIONS:
                sys.exit(f"{run} has {len(success)} iterations of {ITERATIONS}")
            start, end = fmean(success[:FIRST]), fmean(success[-LAST:])
            seconds = median(_seconds(line) for line in _lines(run / "timings.jsonl")[1:-1])
            print(f"| {seed} | {ahead} | {start:.3f} | {end:.3f} | {seconds:.2f} |")
            ends[ahead].append(end)
            rises.append(end - start)
    differences = [one - other for one, other in zip(ends[1], ends[0], strict=True)]
    width = stdtrit(len(SEEDS) - 1, 0.975) * stdev(differences) / sqrt(len(SEEDS))
    low, high = fmean(differences) - width, fmean(differences) + width
    learned = min(rises) >= RISE
    alike = low <= 0 <= high and low >= -MARGIN and high <= MARGIN
    print(f"\nlowest rise {min(rises):.3f}; one ahead less synchronous [{low:.3f}, {high:.3f}]")
    _print_answers(folder)
    _print_times(folder)
    print("one ahead learns as the synchronous run does" if learned and alike else "not shown")


def _print_answers(folder: Path) -> None:
    """Print how many answers name an arm that is there, and of those the better one.

    With shares s of the better arm, which pays 0.25 on average, x of the other, which pays 0.15,
    and y of none, which costs 0.1, the mean reward is 0.25 s + 0.15 x - 0.1 y.
    """
    runs = [folder / f"ahead-{ahead}-seed-{seed}" for seed in SEEDS for ahead in (0, 1)]
    for name, part in (("first", slice(FIRST)), ("last", slice(-LAST, None))):
        lines = [line for run in runs for line in _lines(run / "metrics.jsonl")[part]]
        better = fmean(line["rollout/success"] for line in lines)
        reward = fmean(line["rollout/reward"] for line in lines)
        there = 1 - (0.15 + 0.1 * better - reward) / 0.25
        print(
            f"{name}: {there:.2f} of answers name an arm, {better / there:.2f} of these the better"
        )


def _print_times(folder: Path) -> None:
    """Print the phases of an iteration, and how long one ahead took of the synchronous one."""
    ratios: list[float] = []
    phases: dict[int, list[dict[str, float]]] = {0: [], 1: []}
    for seed in SEEDS:
        medians = []
        for ahead in (0, 1):
            lines = _lines(folder / f"ahead-{ahead}-seed-{seed}" / "timings.jsonl")[1:-1]
            medians.append(median(map(_seconds, lines)))
            phases[ahead].append(
                {
                    name: median(line[name] for line in lines)
                    for name in lines[0]
                    if name != "iteration"
                }
            )
        ratios.append(medians[1] / medians[0])
    for ahead, of_seeds in phases.items():
        seconds = {name: median(run[name] for run in of_seeds) for name in of_seeds[0]}
        print(f"ahead {ahead}:", {name: round(value, 1) for name, value in seconds.items()})
    print(f"time: {min(ratios):.2f} to {max(ratios):.2f}, median {median(ratios):.2f}")


def _lines(path: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _seconds(line: dict[str, float]) -> float:
    return sum_in_order(seconds for name, seconds in line.items() if name != "iteration")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
