"""Success rates of the demo's agents on held-out instances, before and after training."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import TypeAlias

import numpy as np

from ragen_bench.json_types import JsonObject
from ragen_bench.runs.directory import read_run
from ragen_bench.runs.json_lines import read_whole
from ragen_bench.statistics import mean_interval
from ragen_envs.core.instances import Split
from ragen_starpo.demo.stages import MODELS, Game, evaluation_folder
from ragen_starpo.studies.metrics import Values
from ragen_starpo.studies.verdicts import over_clusters

_RESAMPLES = 4000
Results: TypeAlias = JsonObject
Outcomes: TypeAlias = dict[int, list[float]]
"""1 or 0 for each episode, by instance."""


def read_results(game: Game, folders: Sequence[Path], split: Split) -> Results:
    """Return the success rates of a game's agents, one folder for each seed, on held-out instances.

    The result has `env`; `split`; `instances`, their number; `random` and `oracle`, rates with
    their intervals; `rows`, for each of `MODELS` the `rates` of the seeds, their `mean`, and the
    `interval` of the mean over instances; `gain`, the rate after RL less that of the warm start:
    the `rates` of the seeds, their `mean`, its `interval` over seeds and instances, and the
    `seeds_interval` over seeds alone by Student's t (None for a single seed).
    """
    successes = {
        name: [_read_successes(folder / evaluation_folder(name, split)) for folder in folders]
        for name in MODELS
    }
    rows = []
    for name, seeds in successes.items():
        rates = [mean(map(mean, seed.values())) for seed in seeds]
        # Each instance's outcomes under all seeds.
        pooled = [[one for seed in seeds for one in seed[index]] for index in sorted(seeds[0])]
        interval = mean_interval(pooled)
        rows.append({"model": name, "rates": rates, "mean": mean(rates), "interval": interval})
    gains = np.array(  # (seeds, instances)
        [
            [mean(new[index]) - mean(old[index]) for index in sorted(old)]
            for new, old in zip(successes["RL"], successes["warm start"], strict=True)
        ]
    )
    rates = [float(value) for value in gains.mean(axis=1)]
    seeds_interval = over_clusters(np.array(rates)).interval(0.95) if len(rates) > 1 else None
    summary = read_whole(folders[0] / evaluation_folder("RL", split) / "summary.json")
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
            "seeds_interval": seeds_interval,
        },
    }


def two_way_interval(values: Values) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean of values, (seeds, instances).

    Rows and columns are resampled (Owen 2007, The pigeonhole bootstrap, Annals of Applied
    Statistics 1). It is conservative if both matter, as seeds and instances do.
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


def _read_successes(run: Path) -> Outcomes:
    outcomes: Outcomes = {}
    for episode in read_run(run).episodes():
        outcomes.setdefault(episode.index, []).append(float(episode.success or 0))
    return outcomes
