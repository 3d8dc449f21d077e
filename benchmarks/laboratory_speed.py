"""Seed-iterations a second of the laboratory on one core, as a Markdown table.

    python benchmarks/laboratory_speed.py [--iterations 4]

Eight seeds of the 3x3 lake, each with 8 prompts of 16 rollouts an iteration. `limit` is the rate if
only the matrix products of the distinct tokens took time, at the measured rate of products of
those sizes; a backward pass counts as two forward passes.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from ragen_starpo.laboratory import run
from ragen_starpo.laboratory.model import StackedModel, Weights
from ragen_starpo.laboratory.readers import Cache, Layout
from ragen_starpo.studies.definition import Task

SEEDS = 8
TASK = Task("lake", 3, skill=0.4)
ARMS: dict[str, tuple[str, ...]] = {
    "GRPO, all groups": (),
    "GRPO, a quarter of the groups": ("filter.strategy=top-k", "filter.amount=0.25"),
}


def best_seconds(measure: Callable[[], object], rounds: int = 20) -> float:
    """Return the least CPU time of a call: other processes only ever slow one down."""
    seconds = []
    for _ in range(rounds):
        begin = time.process_time()
        measure()
        seconds.append(time.process_time() - begin)
    return min(seconds)


def measure_products() -> float:
    """Return the operations a second of a layer's largest product, of 2,000 tokens of each seed."""
    width, outputs = run.SHAPE.width, 2 * run.SHAPE.hidden
    x, weight = torch.randn(SEEDS, 2000, width), torch.randn(SEEDS, width, outputs)
    return 2.0 * x.numel() * outputs / best_seconds(lambda: torch.bmm(x, weight))


def measure_arm(settings: tuple[str, ...], iterations: int, cache: Path) -> tuple[float, float]:
    """Return seed-iterations a second, and the operations of a seed-iteration."""
    operations = 0.0
    forward = StackedModel.hidden

    def count(
        model: StackedModel, weights: Weights, ids: torch.Tensor, reader: Cache | Layout
    ) -> torch.Tensor:
        nonlocal operations
        hidden = forward(model, weights, ids, reader)
        passes = 3 if hidden.requires_grad else 1
        operations += passes * model.flops(ids.numel(), hidden[..., 0].numel())
        return hidden

    def train(number: int) -> float:
        found = run.run_arm(
            TASK,
            settings,
            iterations=number,
            warm_starts=[0],
            seeds=range(SEEDS),
            device="cpu",
            cache=cache,
        )
        return found.seconds

    with patch.object(run, "TEST", 8):
        rate = SEEDS * iterations / (train(iterations + 1) - train(1))
        with patch.object(StackedModel, "hidden", count):
            train(1)
            first, operations = operations, 0.0
            train(2)
    return rate, (operations - first) / SEEDS


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--iterations", type=int, default=4, help="iterations of a measurement")
    iterations = parser.parse_args().iterations
    torch.set_num_threads(1)
    rate = measure_products()
    print(f"Products of {SEEDS} x 2,000 tokens: {rate / 1e9:.0f} G operations a second.\n")
    print("| arm | seed-iterations a second | limit | G operations of a seed-iteration |")
    print("| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for name, settings in ARMS.items():
            found, operations = measure_arm(settings, iterations, Path(folder))
            print(f"| {name} | {found:.1f} | {rate / operations:.1f} | {operations / 1e9:.2f} |")


if __name__ == "__main__":
    main()
