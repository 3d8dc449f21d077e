"""Runs of a small model that learn or collapse, and when the echo trap's monitor warned of them.

A model of 32 thousand parameters learns in seconds to walk towards the goal of a FrozenLake without
ice, since its chat template shows it the way. Vanilla GRPO (no filter, no divergence penalty) then
trains it: at a small learning rate it gets better, and at one that rises without end it collapses.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from ragen_starpo.diagnostics.drift import BOUNDS
from ragen_starpo.local.train import train
from ragen_starpo.recipes.recipe import recipe_of
from ragen_starpo.small_model import Shape, make_small_model
from ragen_starpo.warm_start import WarmStartSettings, warm_start

ENV = "FrozenLakeMild-v0"
TEMPLATE = r"""
{%- set opened = messages[0].role == 'system' and messages | length > 3 -%}
{%- for message in (messages[3:] if opened else messages) -%}
{%- if message.role == 'assistant' -%}
<assistant>{{ message.content }}<end>
{%- else -%}
{%- set seen = namespace(board='') -%}
{%- for line in message.content.split('\n') if ' ' not in line and '<' not in line -%}
{%- set seen.board = seen.board + line -%}
{%- endfor -%}
{%- set me = seen.board.find('P') -%}
{%- set goal = seen.board.find('G') -%}
<user>
{%- if goal // 4 < me // 4 -%}U{%- elif goal // 4 > me // 4 -%}D{%- endif -%}
{%- if goal % 4 < me % 4 -%}L{%- elif goal % 4 > me % 4 -%}R{%- endif -%}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<assistant>{%- endif -%}
""".strip()
"""Of each observation it shows in which direction the goal lies, and nothing else."""
CONSTANT, FAST = {"learning_rate": 1e-3}, {"learning_rate": 1e-2}
RISING = {"learning_rate": 8e-2, "warmup_steps": 400}
_WINDOW = 5


def make_walker(folder: Path) -> Path:
    """Write a model that reaches the goal in about half of the episodes, and return its folder."""
    make_small_model(folder / "untrained", Shape(width=32, layers=2, hidden=64), 0)
    (folder / "untrained/chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")
    shown = WarmStartSettings((ENV,), "answer", 256, 12, 16, 16, learning_rate=1e-2, max_tokens=24)
    warm_start(shown, folder / "untrained", folder / "warm")
    return folder / "warm"


def settings(optimiser: Mapping[str, float], seed: int, iterations: int) -> dict[str, Any]:
    """Return the settings of a run by vanilla GRPO: two steps an iteration, all groups kept."""
    return {
        "model": "walker",
        "envs": [ENV],
        "environment": {"slip": [1, 0]},
        "response_format": "answer",
        "iterations": iterations,
        "mini_batch": 32,
        "micro_batch": 64,
        "checkpoint_every": 0,
        "seed": seed,
        "rollouts": {"instances": 8, "samples": 8, "max_tokens": 24},
        "advantage": {"estimator": "grpo"},
        "filter": {"strategy": "all"},
        "loss": {"clip_high": 0.2, "entropy": 0.0},
        "optimiser": dict(optimiser),
        "validation": {"every": 0},
    }


def fall_of(successes: Sequence[float]) -> int | None:
    """Return the first iteration whose moving average is at most half of its peak so far."""
    peak = 0.0
    for end in range(_WINDOW, len(successes) + 1):
        average = fmean(successes[end - _WINDOW : end])
        peak = max(peak, average)
        if peak > 0 and average <= peak / 2:
            return end - 1
    return None


def rows(walker: Path, out: Path, seeds: int, iterations: int) -> Iterator[str]:
    """Yield a row of the table for each run."""
    for name, optimiser in (("1e-3", CONSTANT), ("1e-2", FAST), ("rising", RISING)):
        for seed in range(seeds):
            recipe = recipe_of(settings(optimiser, seed, iterations), "the benchmark")
            run = train(recipe, walker, out / f"{name}-{seed}")
            warnings = list(run.lines("warnings.jsonl"))
            successes = [line["rollout/success"] for line in run.lines("metrics.jsonl")]
            first = [_find_first(warnings, kind) for kind in ("early", "confirmed")]
            first += [_find_first(warnings, "drift", metric) for metric in BOUNDS]
            ends = (fmean(successes[:_WINDOW]), fmean(successes[-_WINDOW:]))
            numbers = ("" if n is None else str(n) for n in (*first, fall_of(successes)))
            yield f"| {name} | {seed} | {' | '.join((*map('{:.2f}'.format, ends), *numbers))} |"


def _find_first(
    warnings: Sequence[dict[str, Any]], kind: str, metric: str | None = None
) -> int | None:
    """Return the iteration of the first warning of a kind, and of a metric if one is given."""
    found = (one for one in warnings if one["kind"] == kind)
    return next((one["iteration"] for one in found if metric in (None, *one["signals"])), None)


def main() -> None:
    """Make the model, train it in every way, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=90)
    given = parser.parse_args()
    heads = ("learning rate", "seed", "success at first", "at last", "early", "confirmed")
    heads = (*heads, *BOUNDS, "fall")
    print(f"| {' | '.join(heads)} |")
    print(f"|{' --- |' * len(heads)}")
    with tempfile.TemporaryDirectory() as folder:
        walker = make_walker(Path(folder))
        for row in rows(walker, Path(folder), given.seeds, given.iterations):
            print(row, flush=True)


if __name__ == "__main__":
    main()
