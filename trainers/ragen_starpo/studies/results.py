"""The results of a study as one JSON object, from which its pages are made."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ragen_bench.json_types import JsonObject
from ragen_starpo.studies.jobs import run_name
from ragen_starpo.studies.judging import judge_claims, over_seeds
from ragen_starpo.studies.outcomes import Band, EarlierRuns, Outcome, read_outcome
from ragen_starpo.studies.study import Scale, Study

Results: TypeAlias = JsonObject
_SCHEMA = 1
_LEVEL = 0.95
CURVES = {
    "val/success": "Held-out success",
    "rollout/success": "Success of rollouts",
    "rollout/reward_deviation": "Reward deviation in groups",
    "policy/entropy": "Entropy",
    "policy/grad_norm": "Norm of the gradient",
    "thoughts/mutual_information": "Mutual information of thoughts and contexts",
}
"""Titles of the metrics that the pages draw, by their names in `metrics.jsonl`."""


def make_results(
    study: Study, scale: Scale, seeds: int, folder: Path, earlier: EarlierRuns | None = None
) -> Results:
    """Return the results of a study's runs so far.

    Each arm has `seeds` seeds, at least as many as the earlier runs, which replace those of the
    folder. The results are `schema`, `study`, `scale`, `seeds`; `arms`, each with its `name`, its
    `figures` as `mean` and 95 % `interval` over seeds (Student's t; None if a run lacks the
    metric), and its `curves`, the band of its finished runs by metric; `claims`, each with its
    `verdict`; `runs`; `earlier`, the number of earlier `runs` and the `sha256` of their file, or
    None.
    """
    numbers, elsewhere = study.seed_range(seeds), earlier or EarlierRuns()
    outcomes = [
        elsewhere.outcomes.get(run_name(arm, seed)) or read_outcome(folder, study, arm, seed)
        for arm in study.arms
        for seed in numbers
    ]
    return {
        "schema": _SCHEMA,
        "study": json.loads(json.dumps(asdict(study))),
        "scale": scale,
        "seeds": seeds,
        "arms": [
            _arm_as_json(arm, [run for run in outcomes if run.arm == arm], elsewhere)
            for arm in study.arms
        ],
        "claims": [
            {
                **json.loads(json.dumps(asdict(judged.claim))),
                "verdict": asdict(judged.verdict) if judged.verdict else None,
                "problem": judged.problem,
                "differences": judged.differences,
            }
            for judged in judge_claims(study, outcomes, numbers)
        ],
        "runs": [run.as_json() for run in outcomes],
        "earlier": earlier and {"runs": len(earlier.outcomes), "sha256": earlier.sha256},
    }


def _arm_as_json(name: str, outcomes: Sequence[Outcome], earlier: EarlierRuns) -> Results:
    metrics = dict.fromkeys(metric for run in outcomes for metric in run.figures)
    finished = [run for run in outcomes if not run.problem and run.folder not in earlier.outcomes]
    counts = sum(run.arm == name for run in earlier.outcomes.values()), len(finished)
    return {
        "name": name,
        "figures": {
            "test": _over_runs([_mean(run.test) for run in outcomes]),
            "test_gain": _over_runs([_mean(run.gains) for run in outcomes]),
            **{
                metric: _over_runs([run.figures.get(metric) for run in outcomes])
                for metric in metrics
            },
        },
        "curves": {
            curve: join_bands(
                earlier.bands.get(name, {}).get(curve, []),
                make_band([run.curves.get(curve, []) for run in finished]),
                counts,
            )
            for curve in CURVES
        },
    }


def make_band(curves: Sequence[Sequence[tuple[int, float]]]) -> Band:
    """Return the band of several runs' iterations and values; empty for no runs."""
    by_run = [dict(points) for points in curves]
    common = sorted(set.intersection(*map(set, by_run))) if by_run else []
    values = {iteration: [points[iteration] for points in by_run] for iteration in common}
    return [[at, float(np.mean(these)), min(these), max(these)] for at, these in values.items()]


def join_bands(one: Band, other: Band, counts: tuple[int, int]) -> Band:
    """Return the band of all runs of two bands of `counts` runs; that of no runs is ignored."""
    if not all(counts):
        return one if counts[0] else other
    by_iteration = {int(point[0]): point for point in other}
    return [
        [
            at,
            float(np.average([mean, by_iteration[int(at)][1]], weights=counts)),
            min(low, by_iteration[int(at)][2]),
            max(high, by_iteration[int(at)][3]),
        ]
        for at, mean, low, high in one
        if int(at) in by_iteration
    ]


def _mean(by_env: Mapping[str, Sequence[float]]) -> float | None:
    """Return the mean of the environments' means; None without environments."""
    return float(np.mean([np.mean(values) for values in by_env.values()])) if by_env else None


def _over_runs(values: Sequence[float | None]) -> Results | None:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    estimate = over_seeds(np.array(known))
    return {"mean": estimate.mean, "interval": list(estimate.interval(_LEVEL))}
