"""What the trained agents reach on held-out instances, beside what they began with."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from ragen_bench.records import read_run
from ragen_bench.statistics import paired
from ragen_envs.instances import Split
from ragen_starpo.demo.games import Game
from ragen_starpo.demo.stages import MODELS, evaluation

_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""Student's t: the 97.5 % quantiles of 1 to 9 degrees of freedom."""
Results = dict[str, Any]


def results(game: Game, folders: Sequence[Path], split: Split) -> Results:
    """Return the success rates of a game's agents on held-out instances.

    Args:
        game: that they play.
        folders: of the agents, one a seed.
        split: of the instances.

    Returns:
        `env`; `split`; `instances`, how many; `random` and `oracle`, rates with their intervals;
        `rows`, for each of `MODELS` the `rates` of the seeds, their `mean`, and the `interval` of
        the mean over instances; `gain`, how far RL ends above the warm start: of each seed, their
        `mean`, its `interval` over instances, and the `seeds_interval` over seeds by Student's t
        (None for a single seed or more than ten).
    """
    samples = {
        name: [_successes(folder / evaluation(name, split)) for folder in folders]
        for name in MODELS
    }
    summary = json.loads((folders[0] / evaluation("RL", split) / "summary.json").read_text())[
        "envs"
    ][0]
    rows: list[Results] = []
    for name, seeds in samples.items():
        rates = [_rate(found) for found in seeds]
        # Against nothing: the interval over instances of the mean itself.
        pooled = _pooled(seeds)
        over = paired(pooled, [[0.0] for _ in pooled]).difference
        rows.append({"model": name, "rates": rates, "mean": mean(rates), "interval": over.interval})
    gains = [b - a for a, b in zip(rows[1]["rates"], rows[2]["rates"], strict=True)]
    gain = paired(_pooled(samples["RL"]), _pooled(samples["warm start"])).difference
    return {
        "env": game.env,
        "split": split,
        "instances": len(samples["RL"][0]),
        **{player: summary[player] for player in ("random", "oracle")},
        "rows": rows,
        "gain": {
            "rates": gains,
            "mean": mean(gains),
            "interval": gain.interval,
            "seeds_interval": _over_seeds(gains),
        },
    }


def _successes(run: Path) -> dict[int, list[float]]:
    """Return the outcomes of a run's episodes by instance."""
    found: dict[int, list[float]] = {}
    for episode in read_run(run).episodes():
        found.setdefault(episode["index"], []).append(float(episode["success"]))
    return found


def _rate(successes: dict[int, list[float]]) -> float:
    return mean(mean(samples) for samples in successes.values())


def _pooled(seeds: Sequence[dict[int, list[float]]]) -> list[list[float]]:
    """Return each instance's outcomes under all seeds."""
    return [[one for seed in seeds for one in seed[index]] for index in sorted(seeds[0])]


def _over_seeds(values: Sequence[float]) -> tuple[float, float] | None:
    if not 2 <= len(values) <= len(_T) + 1:
        return None
    half = _T[len(values) - 2] * stdev(values) / math.sqrt(len(values))
    return mean(values) - half, mean(values) + half
