"""Success rates of the demo's agents on held-out instances, before and after training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any, TypeAlias

import numpy as np

from ragen_bench.runs.directory import read_run
from ragen_bench.runs.json_lines import read_whole
from ragen_bench.statistics import mean_interval
from ragen_envs.core.instances import Split
from ragen_starpo.demo.stages import MODELS, Game, evaluation_folder
from ragen_starpo.studies.judging import Values, over_seeds

_RESAMPLES = 4000
Results: TypeAlias = dict[str, Any]
Outcomes: TypeAlias = dict[int, list[float]]
"""1 or 0 for each episode, by instance."""


def read_results(game: Game, folders: Sequence[Path], split: Split) -> Results:
    """Return the success rates of a game's agents on held-out instances.

    Args:
        game: The game.
        folders: Folders of the agents, one for each seed.
        split: Split of the instances.

    Returns:
        `env`; `split`; `instances`, their number; `random` and `oracle`, rates with their
        intervals; `rows`, for each of `MODELS` the `rates` of the seeds, their `mean`, and the
        `interval` of the mean over instances; `gain`, the rate after RL less that of the warm
        start: the `rates` of the seeds, their `mean`, its `interval` over seeds and instances, and
        the `seeds_interval` over seeds alone by Student's t (None for a single seed).
    """
    successes = {
        name: [_read_successes(folder / evaluation_folder(name, split)) for folder in folders]
        for name in MODELS
    }
    summary = read_whole(folders[0] / evaluation_folder("RL", split) / "summary.json")
    rows = [
        {
            "model": name,
            "rates": [mean(map(mean, seed.values())) for seed in seeds],
            "mean": mean(mean(map(mean, seed.values())) for seed in seeds),
            "interval": mean_interval(_pool_seeds(seeds)),
        }
        for name, seeds in successes.items()
    ]
    gains = _gains(successes["RL"], successes["warm start"])
    rates = [float(value) for value in gains.mean(axis=1)]
    return {
        "env": game.env,
        "split": split,
        "instances": gains.shape[1],
        **{player: summary["envs"][0][player] for player in ("random", "oracle")},
        "rows": rows,
        "gain": {
            "rates": rates,
            "mean": mean(rates),
            "interval": two_way_interval(gains),
            "seeds_interval": over_seeds(np.array(rates)).interval(0.95)
            if len(rates) > 1
            else None,
        },
    }


def two_way_interval(values: Values) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a mean, resampling rows and columns.

    Source: Owen 2007, The pigeonhole bootstrap (Annals of Applied Statistics 1). It is conservative
    if rows and columns both matter, as seeds and instances do.

    Args:
        values: (seeds, instances).
    """
    generator = np.random.Generator(np.random.PCG64(0))
    rows, columns = values.shape
    means = []
    for _ in range(_RESAMPLES):
        row_counts = np.bincount(generator.integers(rows, size=rows), minlength=rows)
        column_counts = np.bincount(generator.integers(columns, size=columns), minlength=columns)
        means.append(row_counts @ values @ column_counts / (rows * columns))
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def _gains(after: Sequence[Outcomes], before: Sequence[Outcomes]) -> Values:
    """Return the increase of each seed's rate on each instance, (seeds, instances)."""
    return np.array(
        [
            [mean(new[index]) - mean(old[index]) for index in sorted(old)]
            for new, old in zip(after, before, strict=True)
        ]
    )


def _read_successes(run: Path) -> Outcomes:
    outcomes: Outcomes = {}
    for episode in read_run(run).episodes():
        outcomes.setdefault(episode.index, []).append(float(episode.success or 0))
    return outcomes


def _pool_seeds(seeds: Sequence[Outcomes]) -> list[list[float]]:
    """Return each instance's outcomes under all seeds."""
    return [[outcome for seed in seeds for outcome in seed[index]] for index in sorted(seeds[0])]
